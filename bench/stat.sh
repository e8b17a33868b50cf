#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/stat.sh BUILD - what counting costs, beside perf stat: the time until the program runs and all
# is over, and the counter's own processor time and system calls for each interval of -a -I.
#
#   BENCH_QUICK=1   few rounds
#   BENCH_RUNS=N    rounds (31)
#   BENCH_PERF=...  the perf to compare with (perf)
#
# Software events, and the tree's level 2 on simulated CPUs (tests/sim) where these are built. What an
# interval costs is that of a long run less that of a short one: starting is not in it. "only reads"
# (bench_reads) opens the same groups, waits and reads, and does nothing else: less than that no counter
# can take. "only wakes" does not even read. On a busy machine: chrt -f 10 bench/stat.sh BUILD.
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=$(cd "${1:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
quick=${BENCH_QUICK:-} runs=${BENCH_RUNS:-31} perf=$(command -v "${BENCH_PERF:-perf}" || true)
cyclade=$build/src/cli/cyclade measure=$build/bench/bench_measure stamp=$build/bench/bench_stamp
seconds=5 rounds=5
[ -z "$quick" ] || { runs=${BENCH_RUNS:-5} seconds=1 rounds=1; }
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
strace=$(command -v strace || true)

# start_of WHAT 'alone' 'perf ...' 'cyclade ...': the program is bench_stamp
start_of() {
	echo "$1: to the first instruction of the program, and all of it (median ms of $runs by turns)"
	shift
	"$measure" -x "$runs" "$@" | awk -F '\t' 'BEGIN { n[1] = "alone"; n[2] = "perf stat"; n[3] = "cyclade stat" }
		{ v[NR] = $7 * 1000; printf "  %-14s %8.2f %8.2f\n", n[NR], v[NR], $1 * 1000 }
		END { printf "  cyclade / perf %8.2f\n", v[3] / v[2] }'
}

# calls PREFIX 'command of a long run' 'of a short one': system calls for an interval
calls() {
	[ -n "$strace" ] || return 0
	for i in 1 2; do
		if [ "$i" = 1 ]; then c=$2; else c=$3; fi
		# shellcheck disable=SC2086 # words
		$1 "$strace" -c -o "$dir/s$i" $c >"$dir/null" 2>&1 || true
	done
	# an interval ends with a write: a busy machine, and strace, make fewer of them than were asked for
	awk '{ k = FILENAME ~ /1$/ ? 1 : -1 }
		$NF == "write" { w += k * $4 }
		$NF == "total" { t += k * ($4 + 0) }
		END { if (w > 0) printf ", %.1f system calls", t / w }' "$dir/s1" "$dir/s2"
}

# intervals WHAT PREFIX MS 'perf ...' 'cyclade ...' [GROUP ...]: commands without their -- sleep; the groups
# that bench_reads opens
intervals() {
	echo "$1: own processor time of an interval, us (median of $rounds by turns)"
	n=$((seconds * 1000 / $3)) prefix=$2 ms=$3
	p="$4 -- sleep $seconds" p0="$4 -- sleep 0.01" c="$5 -- sleep $seconds" c0="$5 -- sleep 0.01"
	shift 5
	"$measure" -s "$rounds" "$prefix $p0" "$prefix $p" "$prefix $c0" "$prefix $c" \
		"$prefix $build/bench/bench_reads $ms 1 $*" "$prefix $build/bench/bench_reads $ms $n $*" \
		"$build/bench/bench_reads $ms 1 -" "$build/bench/bench_reads $ms $n -" >"$dir/out"
	perf_calls=$(calls "$prefix" "$p" "$p0") cyclade_calls=$(calls "$prefix" "$c" "$c0")
	awk -F '\t' -v n="$n" -v pc="$perf_calls" -v cc="$cyclade_calls" '{ v[NR] = $7 * 1e6 }
		END {
			printf "  %-14s %8.1f%s\n", "perf stat", (v[2] - v[1]) / n, pc
			printf "  %-14s %8.1f%s\n", "cyclade stat", (v[4] - v[3]) / n, cc
			printf "  %-14s %8.1f\n", "only reads", (v[6] - v[5]) / (n - 1)
			printf "  %-14s %8.1f\n", "only wakes", (v[8] - v[7]) / (n - 1)
			printf "  cyclade / perf %8.2f\n", (v[4] - v[3]) / (v[2] - v[1])
			printf "  beyond reading %8.2f\n", ((v[4] - v[3]) / n - (v[6] - v[5]) / (n - 1)) / ((v[2] - v[1]) / n - (v[6] - v[5]) / (n - 1))
		}' "$dir/out"
}

start_of "software events" "$stamp" "$perf stat -o $dir/p -e $events -- $stamp" "$cyclade stat -o $dir/c -e $events -- $stamp"
for ms in 10 100; do
	intervals "software events, -a -I $ms" "" $ms "$perf stat -a -I $ms -o $dir/p -e $events" \
		"$cyclade stat -a -I $ms -o $dir/c -e $events"
done

sim=$build/tests/sim
[ -f "$sim/libsimpmu.so" ] || exit 0
run=$here/../tests/sim/run.sh
# what level 2 takes, as cyclade stat --dry-run tells it
groups_ivb="4:0x3c,4:0x19c,4:0x400019c,4:0x10e,4:0x2c2,4:0x100030d,4:0xc5,4:0x10401c3,4:0x3079 \
4:0x3c,4:0xc0,4:0x60006a3,4:0x8a2,4:0x40004a3,4:0x10001b1,4:0x30001b1,4:0x20001b1,4:0x15e"
groups_spr="4:0x400,4:0x8200,4:0x8100,4:0x8000,4:0x8300,4:0x8600,4:0x8500,4:0x8400,4:0x8700,4:0x10ad"
for machine in ivb spr; do
	export SIM_LIB="$sim/libsimpmu.so" SIM_TREE="$dir/$machine"
	mkdir "$SIM_TREE"
	"$run" $machine even -- true
	# groups that take turns seldom: turning them costs the simulation time, in both
	prefix="env SIM_MACHINE=$here/../tests/sim/machines/$machine.tab SIM_SCENARIO=even SIM_OPTIONS=interval_us=50000 SYSFS_PATH=$SIM_TREE/sys PERF_CPUID=$(cat "$SIM_TREE/cpuid") LD_PRELOAD=$SIM_LIB"
	start_of "simulated $machine, level 2" "$prefix $stamp" "$prefix $perf stat -M TopdownL2 -o $dir/p -- $stamp" \
		"$prefix $cyclade stat -l 2 --sysroot $SIM_TREE -o $dir/c -- $stamp"
	groups=$groups_ivb
	[ "$machine" = ivb ] || groups=$groups_spr
	intervals "simulated $machine, -a -I 100 at level 2" "$prefix" 100 "$perf stat -a -I 100 -M TopdownL2 -o $dir/p" \
		"$cyclade stat -a -I 100 -l 2 --sysroot $SIM_TREE -o $dir/c" "$groups"
done
