#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that are missing: `deps.sh build` for building, `deps.sh test` for the
# tests and checks too. Needs root or sudo only if something is missing.
set -e
build="build-essential meson ninja-build pkg-config libelf-dev libdw-dev libzydis-dev libcapstone-dev
libiberty-dev libxxhash-dev libzstd-dev liblzma-dev zlib1g-dev libcjson-dev libcmocka-dev libpfm4-dev
libgraphviz-dev libsqlite3-dev libncurses-dev libedit-dev libmicrohttpd-dev"
test="git python3 clang clang-format libclang-rt-14-dev linux-perf gcc-aarch64-linux-gnu gcc-12-plugin-dev
libc6-dev-arm64-cross qemu-user qemu-system-arm autofdo valgrind strace llvm elfutils dwz xz-utils zstd zsh fish bash-completion man-db
jq patchelf tmux libjemalloc2 libtcmalloc-minimal4"
case $1 in
build) want=$build ;;
test) want="$build $test" ;;
*) echo "usage: $0 build|test" >&2; exit 2 ;;
esac
missing=
for p in $want; do
	case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in
	*" installed") ;;
	*) missing="$missing $p" ;;
	esac
done
[ -z "$missing" ] && exit 0
as=
if [ "$(id -u)" -ne 0 ]; then
	as=sudo
	command -v sudo >/dev/null || { echo "missing:$missing; install them as root" >&2; exit 1; }
fi
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $as apt-get update -qq && $as apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	rm -f "$log"
	exit 1
fi
rm -f "$log"
