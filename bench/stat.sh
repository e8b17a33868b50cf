#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/stat.sh BUILD - what counting costs, beside perf stat: the time until the program runs and all
# is over, and the counter's own processor time for each interval of -a -I.
#
#   BENCH_QUICK=1   few rounds
#   BENCH_RUNS=N    rounds (31)
#   BENCH_PERF=...  the perf to compare with (perf)
#
# Software events, and the tree's level 2 on the simulated Ivy Bridge (tests/sim) where that is built.
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=$(cd "${1:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
quick=${BENCH_QUICK:-} runs=${BENCH_RUNS:-31} perf=$(command -v "${BENCH_PERF:-perf}" || true)
cyclade=$build/src/cli/cyclade measure=$build/bench/bench_measure
seconds=5
[ -z "$quick" ] || { runs=${BENCH_RUNS:-5} seconds=1; }
[ -x "$cyclade" ] && [ -x "$measure" ] || {
	echo "bench: no $cyclade or $measure: build them first (make)" >&2
	exit 2
}
[ -n "$perf" ] || {
	echo "bench: perf is not installed: nothing to compare with" >&2
	exit 2
}
events=task-clock,page-faults,cs,migrations
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

echo "a program that does nothing, from start to end (median ms, smallest)"
"$measure" "$runs" "true" "$perf stat -o $dir/p -e $events -- true" "$cyclade stat -o $dir/c -e $events -- true" |
	awk -F '\t' 'BEGIN { n[1] = "alone"; n[2] = "perf stat"; n[3] = "cyclade stat" }
		{ printf "  %-14s %8.2f %8.2f\n", n[NR], $1 * 1000, $2 * 1000 }'

echo "from start to exec (median ms of $runs)"
for tool in "$perf stat -o $dir/p" "$cyclade stat -o $dir/c"; do
	i=0
	while [ "$i" -lt "$runs" ]; do
		from=$(date +%s%N)
		to=$($tool -e "$events" -- date +%s%N)
		echo $(((to - from) / 1000))
		i=$((i + 1))
	done | sort -n | awk -v t="${tool%% *}" '{ v[NR] = $1 }
		END { sub(".*/", "", t); printf "  %-14s %8.2f\n", t " stat", v[int((NR + 1) / 2)] / 1000 }'
done

echo "-a -I 10 for $seconds s: own processor time, us an interval"
"$measure" -s 3 "$perf stat -a -I 10 -o $dir/p -e $events -- sleep $seconds" \
	"$cyclade stat -a -I 10 -o $dir/c -e $events -- sleep $seconds" |
	awk -F '\t' -v n="$((seconds * 100))" 'BEGIN { name[1] = "perf stat"; name[2] = "cyclade stat" }
		{ printf "  %-14s %8.1f\n", name[NR], $4 * 1e6 / n }'

sim=$build/tests/sim
[ -f "$sim/libsimpmu.so" ] || exit 0
echo "simulated Ivy Bridge, level 2, a program that does nothing (median ms, smallest)"
export SIM_LIB="$sim/libsimpmu.so" SIM_TREE="$dir/tree"
mkdir "$SIM_TREE"
run=$here/../tests/sim/run.sh
"$run" ivb even -- true
"$measure" "$runs" "$run ivb even -- true" "$run ivb even -- $perf stat -M TopdownL2 -o $dir/p -- true" \
	"$run ivb even -- $cyclade stat -l 2 --sysroot $SIM_TREE -o $dir/c -- true" |
	awk -F '\t' 'BEGIN { n[1] = "alone"; n[2] = "perf stat"; n[3] = "cyclade stat" }
		{ printf "  %-14s %8.2f %8.2f\n", n[NR], $1 * 1000, $2 * 1000 }'
