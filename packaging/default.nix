# SPDX-License-Identifier: BSD-3-Clause
# Nix: nix-build packaging/default.nix. Untested: no nix was at hand. Builds the tree that it stands in.
# Libraries that the program opens at the first need are found by the wrapper's LD_LIBRARY_PATH.
{ pkgs ? import <nixpkgs> { } }:
let
  opened = with pkgs; [ capstone libedit libmicrohttpd libpfm ncurses sqlite graphviz ];
in
pkgs.stdenv.mkDerivation {
  pname = "cyclade";
  version = "0.2.0";
  src = ../.;
  nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 makeWrapper ];
  buildInputs = with pkgs; [ elfutils xxHash zstd zlib cjson xz zydis ] ++ opened;
  mesonBuildType = "release";
  mesonFlags = [ "-Dtests=disabled" "-Dfuzzers=none" ];
  postFixup = ''
    wrapProgram $out/bin/cyclade --prefix LD_LIBRARY_PATH : ${pkgs.lib.makeLibraryPath opened}
  '';
  meta = {
    description = "Profiler that puts an error bar on every figure";
    license = pkgs.lib.licenses.bsd3;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "cyclade";
  };
}
