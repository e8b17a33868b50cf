#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# bench/blocks.sh BUILD - counts of blocks from branch records, beside AutoFDO and perf report -b.
#
#   BENCH_QUICK=1     a tenth of the recording, one round
#   BENCH_RUNS=N      rounds (5)
#   BENCH_DIR=DIR     where the recording is made and kept (a temporary directory, removed at the end)
#   BENCH_DWARF4=BIN  a cyclade built with -gdwarf-4, which AutoFDO can read; built in BENCH_DIR otherwise
#
# The recording: stacks of 32 branches of a program with many functions, `cyclade list events`, by the oracle of
# tests/truth (QEMU), of a size that a minute of a busy processor makes. What they make of it is not the
# same: create_llvm_prof a profile by source line, perf a table of branches, cyclade blocks, edges and
# loops with errors. Commands take turns.
set -eu
export XDG_CONFIG_HOME=/nonexistent CYCLADE_OPTS=

build=$(cd "${1:-build}" && pwd)
src=$(cd "$(dirname "$0")/.." && pwd)
quick=${BENCH_QUICK:-} runs=${BENCH_RUNS:-5} period=14
cyclade=$build/src/cli/cyclade tools=$build/bench oracle=$build/tests/truth/oracle.so
[ -z "$quick" ] || { runs=${BENCH_RUNS:-1} period=140; }

die() {
	echo "bench: $*" >&2
	exit 2
}

[ -x "$cyclade" ] && [ -x "$tools/bench_measure" ] || die "no $cyclade or no bench tools in $tools: build them first (make)"
[ -e "$oracle" ] || die "no $oracle: the oracle was not built"
command -v qemu-x86_64 >/dev/null || die "no qemu-x86_64: nothing to record with"
if [ -n "${BENCH_DIR:-}" ]; then
	dir=$BENCH_DIR
	mkdir -p "$dir"
else
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT INT TERM
fi
program=${BENCH_DWARF4:-$dir/dwarf4/src/cli/cyclade}
if [ ! -x "$program" ]; then
	meson setup "$dir/dwarf4" "$src" --buildtype=release -Ddebug=true -Dc_args=-gdwarf-4 >"$dir/log" 2>&1 &&
		ninja -C "$dir/dwarf4" src/cli/cyclade >"$dir/log" 2>&1 || die "does not build: $(tail -1 "$dir/log")"
fi
lbr=$dir/lbr$period.data
[ -s "$lbr" ] || qemu-x86_64 -plugin "$oracle,data=$lbr,truth=$dir/truth,depth=32,period=$period" \
	"$program" list events >"$dir/log" 2>&1 || die "the oracle fails: $(tail -1 "$dir/log")"

cat "$lbr" >/dev/null
size=$(ls -lL "$lbr" | awk '{ printf "%.1f", $5 / 1e6 }')
echo "machine: $(nproc) CPUs, Linux $(uname -r); $("$cyclade" --version | head -1)"
echo "recording: $size MB; $("$tools/bench_flow" "$lbr" 1)"
echo
echo "| what | command | median s | least | most | cpu s | peak MB | against |"
echo "|---|---|---|---|---|---|---|---|"
set -- "$cyclade blocks $lbr"
! command -v perf >/dev/null || set -- "$@" "perf report -b --stdio -i $lbr"
! command -v create_llvm_prof >/dev/null ||
	set -- "$@" "create_llvm_prof --binary=$program --profile=$lbr --out=$dir/prof --format=text"
"$tools/bench_measure" "$runs" "$@" | {
	i=0 first=
	while IFS='	' read -r wall least most cpu peak status; do
		i=$((i + 1))
		eval "cmd=\$$i"
		: "${first:=$wall}" "${first_cpu:=$cpu}"
		against=$(awk -v a="$first" -v b="$wall" -v ac="$first_cpu" -v bc="$cpu" -v i="$i" 'BEGIN {
			if (i == 1) print "1"
			else printf "%.1f times, %.1f of processor time", b / a, bc / ac }')
		[ "$status" = 0 ] || against="exit $status"
		cmd=$(echo "$cmd" | sed "s#$program#PROGRAM#g; s#$dir/##g; s#$cyclade#cyclade#g")
		echo "| blocks, LBR-32 ($size MB) | $cmd | $wall | $least | $most | $cpu | $peak | $against |"
	done
}
echo
echo "branch stacks into edges and spans:"
"$tools/bench_flow" "$lbr" "$runs" | sed 's/^/- /'
