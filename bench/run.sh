#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/run.sh BUILD - perf and cyclade side by side, on recordings made here and now.
#
#   BENCH_QUICK=1   seconds instead of minutes: a small recording, one round
#   BENCH_BIG=1     about 1 GB instead of about 130 MB
#   BENCH_RUNS=N    rounds (5; perf's are cut to 3 on the big one)
#   BENCH_DIR=DIR   where recordings are made and kept (a temporary directory, removed at the end)
#
# The recording: perf record -e cpu-clock -F 20000 -g -a while a mixed load runs, repeated to the size
# wanted by bench_repeat (times shifted, so that its processes come and go again); the header of
# the table says so. Commands take turns; medians are compared.
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=${1:-build}
quick=${BENCH_QUICK:-} big=${BENCH_BIG:-}
src=$(cd "$(dirname "$0")/.." && pwd)
shared=${CYCLADE_SHARED:-$src/../shared}
build=$(cd "$build" && pwd)
cyclade=$build/src/cli/cyclade
tools=$build/bench

say() {
	printf '%s\n' "$*"
}

die() {
	say "bench: $*" >&2
	exit 2
}

[ -x "$cyclade" ] || die "no $cyclade: build it first (make)"
[ -x "$tools/bench_measure" ] || die "no bench tools in $tools: configure with -Dtests=enabled"
command -v perf >/dev/null || die "perf is not installed: nothing to compare with"

if [ -n "${BENCH_DIR:-}" ]; then
	dir=$BENCH_DIR
	mkdir -p "$dir"
else
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT INT TERM
fi

seconds=25 times=2 runs=${BENCH_RUNS:-5}
if [ -n "$quick" ]; then
	seconds=3 times=1 runs=${BENCH_RUNS:-1}
elif [ -n "$big" ]; then
	times=10
fi

# ---- recordings -----------------------------------------------------------------------------------

# Interpreters, pipes, short-lived compilers: many processes, deep and shallow stacks.
load() {
	end=$(($(date +%s) + $1))
	while [ "$(date +%s)" -lt "$end" ]; do
		python3 -c 'import json, re
x = [{"a": i, "b": str(i) * 3} for i in range(40000)]
s = json.dumps(x); json.loads(s); re.findall("[0-9]+9", s)' &
		seq 1 200000 | sort -R | gzip -6 | gzip -d | sort -n | md5sum >/dev/null &
		wait
		perl -e 'my %h; $h{$_ % 7919} .= "x" for 1..300000' &
		find /usr/include -name '*.h' | head -500 | xargs cat |
			awk '{ for (i = 1; i <= NF; i++) c[$i]++ } END { for (k in c) n++; print n }' >/dev/null &
		wait
		echo 'int main(void) { return 0; }' | cc -O2 -x c -c -o /dev/null - 2>/dev/null || :
	done
}

if [ "${BENCH_LOAD:-}" ]; then
	load "$BENCH_LOAD"
	exit 0
fi

short=$dir/short.data main=$dir/main.data chains=$dir/chains.data lbr=$dir/lbr.data
if [ ! -s "$short" ]; then
	perf record -q -o "$short" -e cpu-clock -F 20000 -g -a -- \
		env BENCH_LOAD="$seconds" sh "$0" "$build" >"$dir/record.log" 2>&1 ||
		die "perf record fails: $(tail -1 "$dir/record.log")"
fi
"$tools/bench_repeat" "$short" "$main" "$times"
if [ -n "$big" ]; then
	"$tools/bench_repeat" "$short" "$chains" 2
else
	ln -sf "$main" "$chains"
fi
have_lbr=
seed_lbr=$shared/corpus/recordings/autofdo-propeller_sample_1.perfdata1
if [ -s "$seed_lbr" ]; then
	"$tools/bench_repeat" "$seed_lbr" "$lbr" "$([ -n "$quick" ] && echo 3 || echo 36)"
	have_lbr=1
fi
cat "$main" "$chains" >/dev/null

# ---- runs ------------------------------------------------------------------------------------------

size_mb() {
	ls -lL "$1" | awk '{ printf "%.1f", $5 / 1e6 }'
}

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
say "machine: $(nproc) CPUs, ${model:-unknown}, Linux $(uname -r); $(perf --version); $("$cyclade" --version | head -1)"
say "recording: $(size_mb "$main") MB, $("$tools/bench_touch" "$main"); $seconds s of load recorded, repeated $times times"
say ""
say "| what | command | median s | least | most | cpu s | peak MB | against |"
say "|---|---|---|---|---|---|---|---|"

# row NAME 'command' ...: measures them by turns; what the first takes is the measure of the others
row() {
	what=$1 n=$2
	shift 2
	"$tools/bench_measure" "$n" "$@" >"$dir/out"
	i=0 first=
	while IFS='	' read -r wall least most cpu peak status; do
		i=$((i + 1))
		eval "cmd=\$$i"
		: "${first:=$wall}"
		against=$(awk -v a="$first" -v b="$wall" -v i="$i" 'BEGIN {
			if (i == 1) print "1"
			else if (b <= 0) print "?"
			else if (a >= b) printf "%.1f times faster", a / b
			else printf "%.1f times slower", b / a }')
		[ "$status" = 0 ] || against="exit $status"
		cmd=$(printf '%s' "$cmd" | sed "s#$dir/##g; s#$tools/bench_##g; s#$cyclade#cyclade#g")
		say "| $what | $cmd | $wall | $least | $most | $cpu | $peak | $against |"
	done <"$dir/out"
}

flat="--stdio --no-children -g none"
row "report" "$([ -n "$big" ] && echo 3 || echo "$runs")" "perf report $flat -i $main" "$cyclade report -i $main"
row "report, plain loop" "$runs" "$tools/bench_touch $main" "$cyclade report -i $main"
row "report -g ($(size_mb "$chains") MB)" "$([ -n "$quick" ] && echo 1 || echo 3)" \
	"perf report --stdio -g -i $chains" "$cyclade report -g -i $chains"
row "by thread and CPU" "$([ -n "$big" ] && echo 1 || echo "$runs")" \
	"perf script -F ip,sym -G -i $main" "$cyclade report -s comm,tid,cpu,dso,sym --format csv -i $main"
if [ -n "$have_lbr" ]; then
	row "report, LBR-32 ($(size_mb "$lbr") MB)" "$runs" \
		"perf report $flat --no-branch-stack -i $lbr" "$cyclade report -i $lbr"
	row "branches, LBR-32 ($(size_mb "$lbr") MB)" "$runs" \
		"perf report $flat -b -i $lbr" "$cyclade report -b -i $lbr"
fi
row "start-up" 21 "perf report --header-only -i $short" "$cyclade info -i $short" "$cyclade --version"
say ""
if [ -n "$have_lbr" ]; then
	say "branch stacks, found, decoded and counted:"
	"$tools/bench_branches" "$lbr" "$runs" | sed 's/^/- /'
	say ""
fi
BENCH_QUICK=$quick BENCH_RUNS=$runs sh "$src/bench/record.sh" "$build"
