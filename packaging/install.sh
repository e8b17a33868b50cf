#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install.sh install BUILD [GROUP]: installs BUILD below DESTDIR, and writes down in BUILD/installed which files and
#     directories it made. With GROUP, which only root may ask for, members of GROUP may run the program, with
#     CAP_PERFMON: they can count and sample other users' programs and the kernel. Nobody else can run it then.
# install.sh uninstall BUILD: removes them again, and the group, if it was made here and is nobody's.
what=$1 build=$2 group=$3 list=$2/installed
fail() { echo "install: $*" >&2; exit 1; }

case $what in
install)
	if [ -n "$group" ]; then
		case $group in *[!a-z0-9_-]* | [!a-z_]*) fail "$group is no name of a group: small letters, digits, _ and -" ;; esac
		[ -z "$DESTDIR" ] || fail "a group and a capability are for this machine, not for DESTDIR: leave out one of both"
		[ "$(id -u)" -eq 0 ] || fail "only root can make a group and give CAP_PERFMON: sudo make install GROUP=$group"
		PATH=$PATH:/usr/sbin:/sbin
		command -v setcap >/dev/null || fail "there is no setcap; install libcap2-bin"
	fi
	meson install -C "$build" --quiet || exit 1
	grep -v '^#' "$build/meson-logs/install-log.txt" >>"$list" || exit 1
	[ -n "$group" ] || exit 0
	program=$(meson introspect --installed "$build" | python3 -c 'import json, sys; print(*(x for x in json.load(sys.stdin).values() if x.endswith("/bin/cyclade")))')
	[ -n "$program" ] || fail "cyclade is not among the installed files"
	getent group "$group" >/dev/null || { groupadd --system "$group" && echo "group:$group" >>"$list"; } || exit 1
	chgrp "$group" "$program" && chmod 0750 "$program" && setcap cap_perfmon+ep "$program" || exit 1
	echo "install: members of $group can run $program, which has CAP_PERFMON: usermod -aG $group USER" >&2
	;;
uninstall)
	[ -s "$list" ] || fail "$list does not exist: nothing was installed from $build, or it is uninstalled"
	at=${DESTDIR%/}
	left=$list.left
	: >"$left"
	# files first, then directories from the inside; another DESTDIR's stay
	LC_ALL=C sort -ru "$list" | while IFS= read -r path; do
		case $path in
		group:*)
			[ -z "$at" ] && { groupdel "${path#group:}" || echo "$path" >>"$left"; }
			[ -z "$at" ] || echo "$path" >>"$left"
			continue
			;;
		"$at" | "$at"/*) ;;
		*) echo "$path" >>"$left"; continue ;;
		esac
		if [ -d "$path" ] && [ ! -L "$path" ]; then
			rmdir "$path" 2>/dev/null || [ -n "$(ls -A "$path")" ] || echo "$path" >>"$left"
		else
			rm -f "$path" || echo "$path" >>"$left"
		fi
	done
	if [ -s "$left" ]; then mv "$left" "$list"; else rm -f "$left" "$list"; fi
	;;
*) fail "install or uninstall?" ;;
esac
