#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/mem.sh BUILD - mem beside the plain loop, report, and perf mem report, on IBS ops made here (bench_ibs).
#
#   BENCH_SAMPLES=N   10,000,000
#   BENCH_RUNS=N      rounds (3); perf's reads a tenth of the samples, in one
#   BENCH_DIR=DIR     where recordings are made and kept (a temporary directory, removed at the end)
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=$(cd "${1:-build}" && pwd)
samples=${BENCH_SAMPLES:-10000000} runs=${BENCH_RUNS:-3}
if [ -n "${BENCH_DIR:-}" ]; then
	dir=$BENCH_DIR
	mkdir -p "$dir"
else
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT INT TERM
fi
cp "$build/src/cli/cyclade" "$dir/program"
[ -s "$dir/mem.data" ] || "$build/bench/bench_ibs" "$dir/mem.data" "$samples" "$dir/program"
[ -s "$dir/tenth.data" ] || "$build/bench/bench_ibs" "$dir/tenth.data" $((samples / 10)) "$dir/program"

row() {
	what=$1 rounds=$2
	shift 2
	"$build/bench/bench_measure" "$rounds" "$@" | awk -F'\t' -v what="$what" \
		'{ printf "| %s | %s | %s | %s | %s |\n", what, $1, $2, $4, $5 }'
}

echo "$samples samples, $(du -m "$dir/mem.data" | cut -f1) MB; $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
echo "| | wall, median | least | processors | MB |"
echo "|---|---|---|---|---|"
row "every word touched once" "$runs" "$build/bench/bench_touch $dir/mem.data"
row "cyclade info: the records walked" "$runs" "$build/src/cli/cyclade info $dir/mem.data"
row "cyclade report" "$runs" "$build/src/cli/cyclade report $dir/mem.data"
row "cyclade mem" "$runs" "$build/src/cli/cyclade mem $dir/mem.data"
row "a tenth: cyclade mem" "$runs" "$build/src/cli/cyclade mem $dir/tenth.data"
command -v perf >/dev/null && row "a tenth: perf mem report" 1 "perf mem report -i $dir/tenth.data --stdio"
