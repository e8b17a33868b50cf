#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Lays AArch64's libraries from Debian's packages into a folder of their own, for the cross build: dpkg's
# own set of architectures is not touched, and no root is needed. Usage: sysroot-arm64.sh FOLDER
set -e
dir=$1
[ -n "$dir" ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
[ -f "$dir/.complete" ] && exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
apt=$dir/.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
cat >"$apt/conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Debug::NoLocking "true";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
EOF
export APT_CONFIG=$apt/conf
{
	apt-get update -qq
	apt-get install -y --download-only --no-install-recommends libelf-dev libdw-dev libxxhash-dev \
		libzstd-dev libcjson-dev liblzma-dev libcmocka-dev libzydis-dev libcapstone-dev \
		libiberty-dev zlib1g-dev
} >"$apt/log" 2>&1 || { cat "$apt/log" >&2; exit 1; }
for deb in "$apt"/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$dir"
done
[ -e "$dir/lib" ] || ln -s usr/lib "$dir/lib" # Debian 13's packages leave that to the system
# the linker scripts and absolute links of a Debian root, made to work below $dir
find "$dir" -lname '/*' -print | while read -r link; do
	ln -sfn "$dir$(readlink "$link")" "$link"
done
cat >"$dir/cross.ini" <<EOF
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '$dir']

[properties]
sys_root = '$dir'
pkg_config_libdir = '$dir/usr/lib/aarch64-linux-gnu/pkgconfig:$dir/usr/share/pkgconfig'

[built-in options]
c_args = ['--sysroot=$dir']
c_link_args = ['--sysroot=$dir']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
EOF
rm -rf "$apt"
: >"$dir/.complete"
