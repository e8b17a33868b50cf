# SPDX-License-Identifier: BSD-3-Clause
# Homebrew on Linux. Untested: no brew and no ruby were at hand. Fill in url and sha256 from SHA256SUMS of a release.
class Cyclade < Formula
  desc "Profiler that puts an error bar on every figure"
  homepage "https://github.com/cyclade/cyclade"
  url "file:///tmp/cyclade-0.2.0.tar.xz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "BSD-3-Clause"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "python@3.13" => :build
  depends_on "capstone"
  depends_on "cjson"
  depends_on "elfutils"
  depends_on "libedit"
  depends_on "libmicrohttpd"
  depends_on :linux
  depends_on "ncurses"
  depends_on "sqlite"
  depends_on "xxhash"
  depends_on "xz"
  depends_on "zstd"

  def install
    system "meson", "setup", "build", "-Dtests=disabled", "-Dfuzzers=none", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cyclade --version")
  end
end
