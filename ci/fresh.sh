#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What README's two commands do on a fresh Debian: `fresh.sh SUITE DIR [COMMAND]` makes a minimal root in DIR/SUITE (debootstrap, nothing
# but the base; proc, sys and dev mounted), unpacks what is committed here, runs `sh try` and `sh check` in it (or COMMAND),
# and reports. Needs root, debootstrap and git. The root is removed at the end; with KEEP=1 it stays, and is used again as it is.
# Mounts are its own (a mount namespace): they end with it, also if it is killed; what still runs in the root is ended, too.
# Exit code: 0 if both commands succeeded. DIR/SUITE.log has all of the output.
[ $# -ge 2 ] || { echo "usage: $0 bookworm|trixie DIR [COMMAND]" >&2; exit 2; }
suite=$1 what=${3:-}
top=$(cd "$(dirname "$0")/.." && pwd) && mkdir -p "$2" && dir=$(cd "$2" && pwd) || exit 2
[ "$(id -u)" -eq 0 ] || { echo "fresh.sh: debootstrap, mount and chroot need root" >&2; exit 2; }
for program in debootstrap git flock unshare; do
	command -v $program >/dev/null || { echo "fresh.sh: there is no $program" >&2; exit 2; }
done
[ -n "${FRESH_APART:-}" ] || exec env FRESH_APART=1 unshare --mount --propagation private sh "$0" "$@"
root=$dir/$suite log=$dir/$suite.log
# as here: mirror, proxies, certificates, whether old lists of packages are taken
mirror=${MIRROR:-$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
	awk '/^URIs:/ { print $2; exit } /^deb / { sub(/\[[^]]*\]/, ""); print $2; exit }')}

inside() { # who is in the root: pids
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/root")" = "$root" ] && echo "${p#/proc/}"
	done
}

clean() {
	left=$(inside)
	[ -z "$left" ] || kill -9 $left 2>/dev/null
	for at in dev sys proc; do umount -R -l "$root/$at" 2>/dev/null; done
	[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
}
exec 9>"$dir/$suite.lock"
flock -n 9 || { echo "fresh.sh: another fresh.sh uses $root" >&2; exit 2; }
trap clean EXIT
trap 'exit 130' INT TERM HUP

if [ ! -f "$root/.made" ]; then
	rm -rf --one-file-system "$root"
	echo "fresh.sh: debootstrap --variant=minbase $suite"
	debootstrap --variant=minbase "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
	: >"$root/.made"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
apt-config dump 2>/dev/null | grep -iE '^Acquire::(check-|[a-z]+::(proxy|verify|cainfo))' >"$root/etc/apt/apt.conf.d/90fresh"
mkdir -p "$root/usr/local/share/ca-certificates"
cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null
mkdir -p "$root/srv/cyclade" && git -C "$top" archive HEAD | tar -x -C "$root/srv/cyclade" || exit 1
mount -t proc proc "$root/proc" && mount -t sysfs sys "$root/sys" && mount --bind /dev "$root/dev" &&
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" && mount -t tmpfs -o mode=1777 shm "$root/dev/shm" || exit 1
set -- HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
	eval "[ -z \"\${$name:-}\" ] || set -- \"\$@\" \"$name=\$$name\""
done
[ -z "$(ls "$root/usr/local/share/ca-certificates")" ] || set -- "$@" NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt

run() { # command: its output here and in the log; its exit code
	echo "fresh.sh: $suite: $what"
	{
		chroot "$root" env -i "$@" sh -c "cd /srv/cyclade && $what" 2>&1 </dev/null 9>&-
		echo "exit code $?"
	} | tee "$dir/$suite.part"
	cat "$dir/$suite.part" >>"$log"
	code=$(sed -n '$s/exit code //p' "$dir/$suite.part")
	rm -f "$dir/$suite.part"
	[ "$code" = 0 ]
}

bad=0
if [ -n "$what" ]; then
	run "$@" || bad=1
else
	for what in 'sh try' 'sh check'; do
		run "$@" || bad=1
	done
fi
exit $bad
