#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `static-test.sh BINARY [ROOT]`: run, record, report and report --html by the static binary in ROOT (an unpacked system of any kind), or in a
# root with nothing but /proc, /sys and /dev, where a program linked statically runs. Needs root; skips (77) otherwise.
[ -x "$1" ] || { echo "usage: $0 BINARY [ROOT]" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "static-test: chroot and mount need root; skipped" >&2; exit 77; }
[ -n "$STATIC_APART" ] || exec env STATIC_APART=1 unshare --mount --propagation private sh "$0" "$@"
made=
root=$2
[ -n "$root" ] || { made=$(mktemp -d) && root=$made; } || exit 1
at=$root/tmp/cyclade-static
[ ! -e "$root/cyclade.data" ] || { echo "static-test: $root/cyclade.data is in the way" >&2; exit 2; } # what run writes
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$at" || exit 1
end() { umount -l "$root/proc" "$root/sys" "$root/dev"; rm -rf --one-file-system "$at" "$root/cyclade.data"; [ -z "$made" ] || rm -rf --one-file-system "$made"; }
trap end EXIT
mount -t proc proc "$root/proc" && mount -t sysfs sys "$root/sys" && mount --bind /dev "$root/dev" || exit 1
cp "$1" "$at/cyclade"
printf '%s\n' '#include <time.h>' 'static volatile double s;' \
	'__attribute__((noinline)) void hot(void) { for (int i = 0; i < 1000000; i++) s += i; }' \
	'int main(void) { clock_t e = clock() + CLOCKS_PER_SEC; while (clock() < e) hot(); }' >"$at/t.c"
${CC:-cc} -static -g -O1 -o "$at/t" "$at/t.c" || exit 1
bad=0
try() { # words expected, arguments
	want=$1
	shift
	if env -i HOME=/tmp/cyclade-static TERM=dumb "$(command -v chroot)" "$root" /tmp/cyclade-static/cyclade "$@" >"$at/out" 2>&1 && grep -q "$want" "$at/out"; then
		echo "ok: $*"
	else
		echo "FAILED: $*"
		cat "$at/out"
		bad=1
	fi
}
d=/tmp/cyclade-static
try 'left out:' --version
try 'is the report' run -o $d/d0 $d/t
try samples record -o $d/d $d/t
try hot report -i $d/d
try page.html report -i $d/d --html=$d/page.html
grep -q '<html' "$at/page.html" || { echo "FAILED: no page"; bad=1; }
try count sql -i $d/d 'select count(*) from samples'
try hot annotate -i $d/d hot
exit $bad
