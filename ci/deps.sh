#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that are missing: `deps.sh build` for building, `deps.sh test` for the tests and checks too.
# Says what it installs, while it does. Without apt-get, root or sudo, or without the network, it says what is missing, and
# fails only if something is that nothing can be built without.
# "a|b" is the first of these that this release of Debian has; @ is the number of its gcc.
needed="gcc libc6-dev make python3 meson ninja-build pkg-config libelf-dev libdw-dev libxxhash-dev libzstd-dev zlib1g-dev libcjson-dev"
optional="g++ libzydis-dev libcapstone-dev libiberty-dev liblzma-dev libpfm4-dev libgraphviz-dev libsqlite3-dev libncurses-dev
libedit-dev libmicrohttpd-dev libcmocka-dev"
test="git patch procps file jq sqlite3 graphviz man-db ca-certificates clang clang-format libclang-rt-dev llvm elfutils debuginfod libdebuginfod1|libdebuginfod1t64 dwz patchelf
linux-perf gdb strace valgrind autofdo golang-go gcc-aarch64-linux-gnu libc6-dev-arm64-cross
gcc-@-plugin-dev qemu-user qemu-system-arm bzip2 xz-utils zstd zsh fish bash-completion
tmux libjemalloc2 libtcmalloc-minimal4|libtcmalloc-minimal4t64 prometheus python3-jsonschema npm chromium"
case $1 in
build) want="$needed $optional" ;;
test) want="$needed $optional $test" ;;
*) echo "usage: $0 build|test" >&2; exit 2 ;;
esac

say() { echo "deps: $*" >&2; }

# What nothing can be built without, as programs and as pkg-config knows libraries: on every Linux
missing_here() {
	for program in cc make python3 meson ninja pkg-config; do
		command -v $program >/dev/null 2>&1 || echo $program
	done
	for library in libelf libdw libxxhash libzstd zlib libcjson; do
		pkg-config --exists $library 2>/dev/null || echo $library
	done
	[ "$1" = build ] || pkg-config --exists cmocka 2>/dev/null || echo cmocka
}

# Nothing can be installed: goes on with what is here, if that is enough
go_on() { # what for, why
	lacks=$(missing_here "$1" | tr '\n' ' ')
	if [ -z "$lacks" ]; then
		say "$2: what is missing stays missing; the build leaves out what needs it"
		exit 0
	fi
	cat >&2 <<-END
		deps: $2
		To build cyclade, install first: $lacks
		  needed    a C compiler, make, python3, meson (1.0 or later), ninja, pkg-config
		            libelf, libdw (elfutils), libxxhash, libzstd, zlib, libcjson
		  optional  Zydis, capstone, libiberty, liblzma, libpfm4, graphviz, sqlite3, ncurses, libedit, libmicrohttpd
		  tests     cmocka
		Debian: apt-get install $(echo $needed)
		Then: meson setup build --buildtype=release && ninja -C build
	END
	exit 1
}

command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 ||
	go_on "$1" "packages are installed on Debian and its derivatives only; this machine has no apt-get"

# npm may come with a nodejs of another source, which Debian's package conflicts with
installed() {
	[ "$1" = npm ] && command -v npm >/dev/null 2>&1 && return
	case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in *" installed") ;; *) false ;; esac
}

gcc=$(gcc -dumpversion 2>/dev/null | cut -d. -f1)
missing= # groups of alternatives of which none is installed
for group in $want; do
	has=
	for p in $(echo "$group" | sed "s/@/$gcc/; s/|/ /g"); do installed "$p" && has=$p && break; done
	[ -n "$has" ] || missing="$missing $group"
done
[ -n "$missing" ] || exit 0
as=
if [ "$(id -u)" -ne 0 ]; then
	as=sudo
	command -v sudo >/dev/null 2>&1 || go_on "$1" "not root, and no sudo, to install$missing"
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
began=$(date +%s)
[ -z "$as" ] || say "sudo may ask for your password"
[ -z "$as" ] || $as true || go_on "$1" "sudo refused, to install$missing"
say "apt-get update (some 5 s)"
sh "${0%/*}/progress.sh" deps "$log" $as apt-get update -qq || { tail -5 "$log" >&2; go_on "$1" "apt-get update failed"; }

[ -n "$gcc" ] || gcc=$(apt-cache policy gcc | sed -n 's/.*Candidate: [0-9]*:\([0-9]*\).*/\1/p')
take= none=
for group in $missing; do
	found=
	for p in $(echo "$group" | sed "s/@/$gcc/; s/|/ /g"); do
		apt-cache policy "$p" 2>/dev/null | grep -q 'Candidate: [^(]' && found=$p && break
	done
	[ -n "$found" ] && take="$take $found" || none="$none $group"
done
[ -z "$none" ] || say "this release does not have:$none"
install() {
	sh "${0%/*}/progress.sh" deps "$log" $as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends -o APT::Status-Fd=1 "$@"
}

if [ -n "$take" ]; then
	say "apt-get install$take"
	new=$(apt-get -s install --no-install-recommends $take 2>/dev/null | grep -c '^Inst')
	[ "$new" = 0 ] || say "$new packages with what they need: about $(((new * 4 + 100) / 100 * 10)) s"
	if ! install $take; then
		grep -vE '^(dl|pm)status:' "$log" | tail -20 >&2
		say "not all at once; one by one"
		failed=
		for p in $take; do
			install "$p" || failed="$failed $p"
		done
		[ -z "$failed" ] || go_on "$1" "apt-get install failed:$failed"
	fi
	say "installed in $(($(date +%s) - began)) s"
fi
exit 0
