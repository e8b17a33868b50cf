#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All checks, as CI runs them: `check.sh`, or some by name: `check.sh rooms gcc`.
# Each stage says one line, with its seconds; the last line of all is "N passed, N failed, N skipped".
cd "$(dirname "$0")/.." || exit 1
logs=build-check
rm -rf $logs
mkdir -p $logs
broken=

say() { printf '%-8s %s; %d s\n' "$1" "$2" $(($(date +%s) - began)); }

fail() { # stage, log
	say "$1" "FAILED"
	tail -20 "$2"
	broken="$broken $1"
}

# stage, setup arguments..., "--", what to build..., "--", arguments for meson test
build_and_test() {
	stage=$1 dir=build-$1 log=$logs/$1.log
	shift
	setup= targets=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		setup="$setup $1"
		shift
	done
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		targets="$targets $1"
		shift
	done
	[ $# -gt 0 ] && shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" $setup >"$log" 2>&1 || { fail "$stage" "$log"; return; }
	ninja -C "$dir" $targets >"$log" 2>&1 || { grep -E ': error:|: warning:|FAILED:' "$log" | head -20; fail "$stage" "$log"; return; }
	built=$(date +%s)
	# tests wait more than they compute: two for each core
	meson test -C "$dir" --no-rebuild --num-processes $(($(nproc) * 2)) "$@" >"$log" 2>&1
	cp "$dir/meson-logs/testlog.json" "$logs/$stage.json" 2>/dev/null || { fail "$stage" "$log"; return; }
	say "$stage" "$(python3 ci/count.py "$logs/$stage.json" | tail -1), built after $((built - began)) s"
}

stage_format() {
	git ls-files '*.c' '*.h' | xargs -P "$(nproc)" -n 50 clang-format --dry-run --Werror >$logs/format.log 2>&1 ||
		{ fail format $logs/format.log; return; }
	python3 ci/lines.py >$logs/format.log 2>&1 || { fail format $logs/format.log; return; }
	say format ok
}

stage_rooms() {
	python3 ci/rooms.py >$logs/rooms.log 2>&1 || { fail rooms $logs/rooms.log; return; }
	say rooms ok
}

stage_docs() {
	python3 ci/docs.py >$logs/docs.log 2>&1 || { fail docs $logs/docs.log; return; }
	say docs ok
}

# What a stage is for decides how it compiles: users' flags for gcc, where all suites run; else what compiles
# fastest and tests as well. The sanitizers look at every access, however slow (-Og took a third of -O2's time
# to compile), an emulator is better off with a little optimisation.
stage_gcc() { CC=gcc build_and_test gcc --buildtype=release -- -- ; }
stage_clang() { CC=clang build_and_test clang -Doptimization=1 -Ddebug=false -- -- --suite unit; }
stage_bare() { # without the libraries that may be missing
	build_and_test bare -Doptimization=1 -Ddebug=false -Dzydis=disabled -Dcapstone=disabled -Ddemangle=disabled \
		-Dminidebug=disabled -Dpfm=disabled -Dgraphviz=disabled -- src/cli/cyclade tests-unit tests-fuzz -- \
		--suite unit --suite fuzz
}
stage_asan() {
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:allocator_may_return_null=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CYCLADE_SANITIZED=1 \
		build_and_test asan -Doptimization=g -Ddebug=true -Dc_args=-fno-var-tracking \
		-Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false -- -- --timeout-multiplier 4
}
stage_tsan() { # what has no threads has no races
	TSAN_OPTIONS=halt_on_error=1 CYCLADE_SANITIZED=1 \
		build_and_test tsan -Doptimization=1 -Ddebug=true -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false -- \
		tests-threads -- --suite threads --timeout-multiplier 4
}
stage_arm64() {
	sh ci/sysroot-arm64.sh build-arm64-root >$logs/arm64-root.log 2>&1 || { fail arm64 $logs/arm64-root.log; return; }
	build_and_test arm64 -Doptimization=1 -Ddebug=false --cross-file build-arm64-root/cross.ini -- \
		src/cli/cyclade src/region/libcyclade.so.0.1.0 tests-unit -- --suite unit --timeout-multiplier 4
}

for stage in ${*:-format rooms docs gcc clang bare asan tsan arm64}; do
	began=$(date +%s)
	"stage_$stage"
done
python3 ci/count.py --broken "$broken" $logs/*.json
