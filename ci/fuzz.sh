#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every fuzzer for FUZZ_SECONDS (60) seconds, or FUZZ_RUNS executions, under ASan and UBSan. New inputs go
# into build-fuzz/corpus; a finding is left in build-fuzz/findings and ends with exit 1.
cd "$(dirname "$0")/.." || exit 1
dir=build-fuzz
[ -f $dir/build.ninja ] || CC=clang meson setup $dir -Dfuzzers=libfuzzer -Db_sanitize=address,undefined \
	-Db_lundef=false --buildtype=debugoptimized >/dev/null || exit 1
# the fuzzers only: the programs that are never instrumented do not link here
targets=$(ninja -C $dir -t targets all | sed -n 's|^\(tests/fuzz/fuzz_[a-z_]*\): .*|\1|p')
ninja -C $dir $targets >$dir/build.log 2>&1 || { tail -20 $dir/build.log; exit 1; }
bound="-max_total_time=${FUZZ_SECONDS:-60}"
[ -n "$FUZZ_RUNS" ] && bound="-runs=$FUZZ_RUNS"
mkdir -p $dir/findings
total=0 found=0
for program in $dir/tests/fuzz/fuzz_*; do
	[ -x "$program" ] && [ -f "$program" ] || continue
	name=${program##*/fuzz_}
	[ -n "$1" ] && [ "$1" != "$name" ] && continue
	mkdir -p $dir/corpus/$name
	seeds=
	[ -d tests/fuzz/corpus/$name ] && seeds=tests/fuzz/corpus/$name
	[ "$name" = perfdata ] && [ -d ../shared/corpus/malformed ] && seeds="$seeds ../shared/corpus/malformed"
	# the weighing of inputs by rare features took more than the executions where there are many features
	"$program" -entropic=0 $bound -max_len=65536 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix=$dir/findings/$name- $dir/corpus/$name $seeds >$dir/$name.log 2>&1
	code=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' $dir/$name.log)
	total=$((total + ${runs:-0}))
	if [ $code -eq 0 ]; then
		echo "$name: ${runs:-0} executions, nothing found"
	else
		found=$((found + 1))
		echo "$name: FINDING, see $dir/$name.log"
	fi
done
echo "$total executions, $found findings"
[ $found -eq 0 ]
