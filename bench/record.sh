#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/record.sh BUILD - what recording costs: a program alone, under perf record, under cyclade record.
#
#   BENCH_QUICK=1   one round of a short program
#   BENCH_RUNS=N    rounds (5)
#   BENCH_ARGS=...  options of both recorders and bench_floor (-F 20000 -g)
#   BENCH_PERF=...  the perf to compare with (perf)
#
# And under bench_floor: counters like those of the recorders into rings that nobody reads, so what the
# kernel takes whoever records. No recorder can cost less.
#
# The four take turns. Wall and processor seconds are of the whole tree of processes, recorder
# included; "over" is what is more than the program alone: mostly the kernel's interrupts, which take
# the program's time whoever asked for them; "recorder itself" is what the recorder's own process took. Beginning and ending are in them: the
# last rows, of a program that does nothing, tell how much that is. Losses are what each recorder
# itself says of its last round.
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=$(cd "${1:-build}" && pwd)
quick=${BENCH_QUICK:-} runs=${BENCH_RUNS:-5} args=${BENCH_ARGS:--F 20000 -g} perf=${BENCH_PERF:-perf}
cyclade=$build/src/cli/cyclade
tools=$build/bench
millions=40
if [ -n "$quick" ]; then
	millions=4 runs=${BENCH_RUNS:-1}
fi

[ -x "$cyclade" ] && [ -x "$tools/bench_busy" ] || {
	echo "bench: no $cyclade or $tools/bench_busy: build them first (make)" >&2
	exit 2
}
command -v "$perf" >/dev/null || {
	echo "bench: perf is not installed: nothing to compare with" >&2
	exit 2
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

# a number of a recording, as `info` has it
number() {
	"$cyclade" info -j -i "$1" | sed -n "s/^ *\"$2\": *\([0-9]*\),*$/\1/p" | head -1
}

# rows NAME 'program ...': the program alone, and under both recorders
rows() {
	name=$1 prog=$2 n=$3
	"$tools/bench_measure" -s "$n" "$prog" \
		"$perf record $args -e cpu-clock -o $dir/perf.data -- $prog" \
		"$cyclade record $args -e cpu-clock -o $dir/cyclade.data -- $prog" \
		"$tools/bench_floor $args $prog" >"$dir/out"
	awk -v name="$name" -v n="$n" -F '\t' \
		-v samples="- $(number "$dir/perf.data" SAMPLE) $(number "$dir/cyclade.data" SAMPLE) -" \
		-v lost="- $(number "$dir/perf.data" lost) $(number "$dir/cyclade.data" lost) -" '
		BEGIN { split("alone,perf record,cyclade record,nobody reads", who, ","); split(samples, s, " "); split(lost, l, " ") }
		{
			wall[NR] = $1; cpu[NR] = $4; own[NR] = $7
			over = NR == 1 ? "- | -" : sprintf("%+.3f | %+.3f", $1 - wall[1], $4 - cpu[1])
			printf "| %s | %s | %s (%s to %s) | %s | %s | %s | %s | %s |%s\n", name, who[NR], $1, $2, $3, $4, over, NR == 1 ? "-" : sprintf("%.2f", $7),
				s[NR], l[NR], $6 == 0 ? "" : " exit " $6
		}
		function part(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "?" }
		END {
			printf "| %s | nobody / perf | | | %s | %s | | | |\n", name, part(wall[4] - wall[1], wall[2] - wall[1]),
				part(cpu[4] - cpu[1], cpu[2] - cpu[1])
			printf "| %s | cyclade / perf | | | %s | %s | %s | | |\n", name, part(wall[3] - wall[1], wall[2] - wall[1]),
				part(cpu[3] - cpu[1], cpu[2] - cpu[1]), part(own[3], own[2])
		}' "$dir/out"
}

echo "recording: $args -e cpu-clock; $runs rounds by turns, medians; $(nproc) CPUs, Linux $(uname -r), $("$perf" --version)"
echo
echo "| program | recorder | wall s | cpu s | over, wall | over, cpu | recorder itself, cpu | samples | lost |"
echo "|---|---|---|---|---|---|---|---|---|"
rows "2 threads" "$tools/bench_busy 2 $millions" "$runs"
rows "1 thread" "$tools/bench_busy 1 $millions" "$runs"
rows "nothing" "true" "$([ -n "$quick" ] && echo 1 || echo 11)"
