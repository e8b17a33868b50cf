#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All checks, as CI runs them: `check.sh`, or some by name: `check.sh rooms gcc`.
# Each stage says one line; the last line of all is "N passed, N failed, N skipped".
cd "$(dirname "$0")/.." || exit 1
logs=build-check
rm -rf $logs
mkdir -p $logs
broken=0

say() { printf '%-8s %s\n' "$1" "$2"; }

fail() { # stage, log
	say "$1" "FAILED"
	tail -40 "$2"
	broken=$((broken + 1))
}

# stage, setup arguments..., then "--" and arguments for meson test
build_and_test() {
	stage=$1 dir=build-$1 log=$logs/$1.log
	shift
	setup=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		setup="$setup $1"
		shift
	done
	[ $# -gt 0 ] && shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" $setup >"$log" 2>&1 || { fail "$stage" "$log"; return; }
	ninja -C "$dir" >"$log" 2>&1 || { grep -E 'error|warning|FAILED' "$log" | head -20; fail "$stage" "$log"; return; }
	meson test -C "$dir" --no-rebuild "$@" >"$log" 2>&1
	cp "$dir/meson-logs/testlog.json" "$logs/$stage.json" 2>/dev/null || { fail "$stage" "$log"; return; }
	say "$stage" "$(python3 ci/count.py "$logs/$stage.json" | tail -1)"
}

stage_format() {
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror >$logs/format.log 2>&1 ||
		{ fail format $logs/format.log; return; }
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

stage_gcc() { CC=gcc build_and_test gcc --buildtype=release -- ; }
stage_clang() { CC=clang build_and_test clang -- --suite unit; }
stage_bare() { # without the libraries that may be missing
	build_and_test bare -Dzydis=disabled -Dcapstone=disabled -Ddemangle=disabled -Dminidebug=disabled -Dpfm=disabled \
		-Dgraphviz=disabled -- \
		--suite unit --suite fuzz
}
stage_asan() {
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:allocator_may_return_null=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CYCLADE_SANITIZED=1 \
		build_and_test asan -Db_sanitize=address,undefined -Db_lundef=false -- --timeout-multiplier 4
}
stage_tsan() {
	TSAN_OPTIONS=halt_on_error=1 CYCLADE_SANITIZED=1 \
		build_and_test tsan -Db_sanitize=thread -Db_lundef=false -- --suite unit --timeout-multiplier 4
}
stage_arm64() {
	sh ci/sysroot-arm64.sh build-arm64-root >$logs/arm64-root.log 2>&1 || { fail arm64 $logs/arm64-root.log; return; }
	build_and_test arm64 --cross-file build-arm64-root/cross.ini -- --suite unit --timeout-multiplier 4
}

for stage in ${*:-format rooms docs gcc clang bare asan tsan arm64}; do
	"stage_$stage"
done
python3 ci/count.py --broken $broken $logs/*.json
