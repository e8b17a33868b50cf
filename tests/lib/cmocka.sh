#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a cmocka program: what it calls "not ok 5 # SKIP" (1.1.5) or "ok 5 # SKIP" (1.1.7) is a skip to everybody else, not a
# failure; the reason comes from a line "# why: ..." before it, and a skip without one is a failure.
# Under a cross build the program goes through its emulator, and the tools it calls are the host's (Meson
# puts the cross compiler's folder first).
[ -n "$MESON_EXE_WRAPPER" ] && PATH=/usr/local/bin:/usr/bin:/bin
# a library for the program alone: what it runs itself is without
[ -z "$CYCLADE_PRELOAD" ] || set -- env "LD_PRELOAD=$CYCLADE_PRELOAD" "$@"
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
CMOCKA_MESSAGE_OUTPUT=TAP ${MESON_EXE_WRAPPER:-} "$@" >"$out"
code=$?
awk '/^# why: / { why = substr($0, 8); next }
/^(not )?ok [0-9]+ # SKIP / { sub(/^not /, "") } # without it: number, name are $2, $5
/^ok [0-9]+ # SKIP / && why == "" { print "not ok", $2, "-", $5, "(skipped without a reason: SKIP_BECAUSE)"; bad = 1; next }
/^ok [0-9]+ # SKIP / { print "ok", $2, "-", $5, "# SKIP", why; why = ""; next }
{ print }
END { exit bad }' "$out" || code=1
exit $code
