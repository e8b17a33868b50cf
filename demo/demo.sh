#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The main job on a program whose proportions are known: runs demo/phases.c under `cyclade run`, and holds
# the shares against what the program's own clock says. Exit 1 if one is outside its error bar.
# usage: demo.sh BUILD [SECONDS]
build=${1:-build}
ninja -C "$build" demo/phases >/dev/null || exit 1
cyclade=$build/src/cli/cyclade phases=$build/demo/phases
dir=$build/demo/out # kept, so that the commands it proposes can be typed
mkdir -p "$dir" || exit 1

echo "\$ $cyclade run --data $dir/cyclade.data -- $phases ${2:-2}" >&2
"$cyclade" run --data "$dir/cyclade.data" -- "$phases" "${2:-2}" >"$dir/truth" || exit 1
"$cyclade" report --format csv -s sym "$dir/cyclade.data" >"$dir/shares.csv" || exit 1

echo
echo "and what the program's own clock says (demo/phases.c divides its CPU time 50 : 30 : 20):"
awk -F, '
{ sub(/\r$/, "") } # RFC 4180 ends lines with CR LF
NR != FNR && FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
NR != FNR { share[$column["function"]] = 100 * $column["share"]; error[$column["function"]] = 100 * $column["share_error"]; next }
{ split($0, w, " "); order[++n] = w[1]; known[w[1]] = w[2] }
END {
	printf " %-14s %10s %18s\n", "", "known", "measured"
	for (i = 1; i <= n; i++) {
		s = order[i]
		off = share[s] - known[s]
		bad = !(s in share) || off > error[s] || -off > error[s]
		wrong += bad
		printf " %-14s %8.2f %% %8.2f %% +-%.2f  %s\n", s, known[s], share[s], error[s], bad ? "OUTSIDE" : "ok"
	}
	exit wrong != 0
}' "$dir/truth" "$dir/shares.csv"
