#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Lays out what the suite `guest` boots, from Debian's packages for AArch64: FOLDER/vmlinuz, FOLDER/modules and
# FOLDER/root (busybox, perf, libraries). Neither dpkg's own architectures nor the system are touched.
# Usage: guest-arm64.sh FOLDER. If packages cannot be had, FOLDER/why holds the reason and the exit code is 1.
dir=$1
[ -n "$dir" ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
[ -f "$dir/.complete" ] && exit 0
rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
apt=$dir/.apt

fail() {
	echo "$1" >"$dir/why"
	echo "$1" >&2
	exit 1
}

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "no apt-get or dpkg-deb"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/all" "$apt/kernel"
: >"$apt/status"
cat >"$apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Debug::NoLocking "true";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
export APT_CONFIG="$apt/conf"
apt-get update -qq >&2 || fail "apt-get update failed for arm64"
kernel=$(apt-cache depends linux-image-arm64 | awk '/Depends: linux-image/ { print $2; exit }')
[ -n "$kernel" ] || fail "no package linux-image-arm64"
libraries= # releases name them by their versions: what is linked says which
for dev in libelf-dev libdw-dev libxxhash-dev libzstd-dev libcjson-dev liblzma-dev zlib1g-dev libzydis-dev libcapstone-dev; do
	libraries="$libraries $(apt-cache depends $dev | awk '$1 == "Depends:" && $2 !~ /^<|-dev$/ { print $2 }')"
done
apt-get install -y --download-only --no-install-recommends busybox-static linux-perf $libraries >&2 ||
	fail "packages for arm64 cannot be downloaded"
(cd "$apt/kernel" && apt-get download "$kernel" >&2) || fail "$kernel for arm64 cannot be downloaded"
dpkg-deb -x "$apt"/kernel/*.deb "$apt/kernel" || fail "$kernel cannot be unpacked"
for deb in "$apt"/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$apt/all" --keep-directory-symlink || fail "$deb cannot be unpacked"
done

# of all that, the programs and the libraries that they or cyclade load
mkdir -p "$dir/modules" "$dir/root/bin" "$dir/root/lib"
cp "$apt"/kernel/boot/vmlinuz-* "$dir/vmlinuz" || fail "no kernel in $kernel"
for m in virtio_mmio virtio_blk; do
	find "$apt/kernel" -name "$m.ko*" -exec cp {} "$dir/modules/" \;
	[ ! -f "$dir/modules/$m.ko.xz" ] || xz -d "$dir/modules/$m.ko.xz" # Debian 13
	[ -f "$dir/modules/$m.ko" ] || fail "no $m.ko in $kernel"
done
cp "$(find "$apt/all" -name busybox -type f -path '*/bin/*')" "$dir/root/bin/" || fail "no busybox in busybox-static"
cp "$apt/all/usr/bin/perf" "$dir/root/bin/perf" || fail "no perf in linux-perf"
need() { # file
	aarch64-linux-gnu-readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r lib; do
		[ -f "$dir/root/lib/$lib" ] && continue
		from=$(find "$apt/all" -name "$lib" ! -path '*/debug/*' | head -1)
		[ -n "$from" ] || { echo "no $lib for $1" >&2; continue; }
		cp -L "$from" "$dir/root/lib/$lib"
		need "$dir/root/lib/$lib"
	done
}
need "$dir/root/bin/perf"
for lib in libelf libdw libxxhash libzstd libcjson liblzma libz libZydis libcapstone; do
	from=$(find "$apt/all" -name "$lib.so.*" ! -path '*/debug/*' | head -1)
	name=$([ -z "$from" ] || aarch64-linux-gnu-readelf -d "$from" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
	[ -n "$name" ] || fail "no $lib"
	cp -L "$from" "$dir/root/lib/$name"
	need "$dir/root/lib/$name"
done
rm -rf "$apt"
: >"$dir/.complete"
