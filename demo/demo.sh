#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The main job on a program whose proportions are known: runs demo/phases.c under `cyclade run`, and holds
# the shares against what the program's own clock says, which runs on while the kernel handles an interrupt: so do
# the totals of `report -g`. A bar of 95 % misses the truth once in 20 times, so one of three figures does once in 7
# runs. Exit 1 if one is off by over 1.6 bars, as happens once in 200 runs if all is well.
# usage: demo.sh BUILD [SECONDS]
# With CYCLADE, a program that is installed, PHASES is demo/phases.c compiled, and BUILD any directory.
build=${1:-build}
[ -n "$CYCLADE" ] || ninja -C "$build" demo/phases >/dev/null || exit 1
cyclade=${CYCLADE:-$build/src/cli/cyclade} phases=${PHASES:-$build/demo/phases}
dir=$build/demo/out # kept, so that the commands it proposes can be typed
mkdir -p "$dir" || exit 1

echo "\$ $cyclade run --data $dir/cyclade.data -- $phases ${2:-2}" >&2
"$cyclade" run --data "$dir/cyclade.data" -- "$phases" "${2:-2}" >"$dir/truth" || exit 1
"$cyclade" report -g --format csv "$dir/cyclade.data" >"$dir/shares.csv" || exit 1

echo
echo "and what the program's own clock says (demo/phases.c divides its CPU time 50 : 30 : 20):"
awk -F, '
{ sub(/\r$/, "") } # RFC 4180 ends lines with CR LF
NR != FNR && FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
NR != FNR { share[$column["function"]] = 100 * $column["total"]; error[$column["function"]] = 100 * $column["total_error"]; next }
{ split($0, w, " "); order[++n] = w[1]; known[w[1]] = w[2] }
END {
	printf " %-14s %10s %18s\n", "", "known", "measured"
	for (i = 1; i <= n; i++) {
		s = order[i]
		off = share[s] - known[s]
		off = s in share ? (off < 0 ? -off : off) / error[s] : 1e9
		wrong += off > 1.6
		printf " %-14s %8.2f %% %8.2f %% +-%.2f  %s\n", s, known[s], share[s], error[s],
			(off > 1.6 ? "OUTSIDE" : off > 1 ? "just outside" : "ok")
	}
	exit wrong != 0
}' "$dir/truth" "$dir/shares.csv"
