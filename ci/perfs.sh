#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Unpacks newer perfs beside the system, as referees for the tests: Debian's backport (6.12) and unstable's (7).
# `perfs.sh DIR` makes DIR/perf-6.12 and DIR/perf-7, each with its own libraries below DIR/lib, and installs nothing
# but patchelf. A perf that is there is kept. One that cannot be had is reported, and no failure.
# If the system's own perf is of that version, it is taken: what the tests preload needs the libc that they were built with.
dir=${1:?usage: ci/perfs.sh DIR}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 2
arch=$(dpkg --print-architecture) || exit 2
mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
	awk '/^URIs:/ { print $2; exit } /^deb / { sub(/\[[^]]*\]/, ""); print $2; exit }')

fetch() { # work directory, suites, the one that is wanted: its perf and what that needs, unpacked below root/
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/root" && : >"$1/status" || return 1
	for suite in $2; do echo "deb $mirror $suite main"; done >"$1/sources"
	cat >"$1/conf" <<-EOF
		Dir::Etc::sourcelist "$1/sources";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State::lists "$1/lists";
		Dir::State::status "$1/status";
		Dir::Cache "$1/cache";
		APT::Sandbox::User "";
		APT::Default-Release "$3";
		Debug::NoLocking "true";
	EOF
	APT_CONFIG=$1/conf apt-get update -qq &&
		APT_CONFIG=$1/conf apt-get install -y -qq --download-only --no-install-recommends linux-perf >/dev/null || return 1
	for deb in "$1"/cache/archives/*.deb; do
		dpkg --fsys-tarfile "$deb" | tar -x -C "$1/root" --keep-directory-symlink --exclude './usr/share/doc' || return 1
	done
}

get() { # name, suites, the one that is wanted
	case $(perf --version 2>/dev/null) in
	"perf version ${1#perf-}."*) ln -sf "$(command -v perf)" "$dir/$1" && return 0 ;;
	esac
	[ -x "$dir/$1" ] && "$dir/$1" --version >/dev/null 2>&1 && return 0
	rm -rf "$dir/$1.work" "$dir/lib/$1"
	fetch "$dir/$1.work" "$2" "$3" || return 1
	mkdir -p "$dir/lib" && mv "$dir/$1.work/root" "$dir/lib/$1" && rm -rf "$dir/$1.work" || return 1
	loader=$(find "$dir/lib/$1" -name 'ld-linux*.so.*' | head -n 1)
	libs=$(find "$dir/lib/$1" -name 'lib*.so.*' -exec dirname {} + | sort -u | tr '\n' ':')
	cp "$dir/lib/$1/usr/bin/perf" "$dir/$1.new" &&
		patchelf --set-interpreter "$(readlink -f "$loader")" --force-rpath --set-rpath "${libs%:}" "$dir/$1.new" &&
		"$dir/$1.new" --version >/dev/null && mv "$dir/$1.new" "$dir/$1"
}

# as little as the machine allows: only what is not there yet
for want in "perf-6.12 bookworm:bookworm-backports bookworm-backports" "perf-7 sid unstable"; do
	set -- $want
	get "$1" "$(echo "$2" | tr : ' ')" "$3" >"$dir/log" 2>&1 || echo "perfs.sh: $1 for $arch cannot be had: $(tail -n 1 "$dir/log")" >&2
done
exit 0
