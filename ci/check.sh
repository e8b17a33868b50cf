#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All checks, as CI runs them: `check.sh`, or some by name: `check.sh rooms gcc`.
# Each stage says what it ran, with its seconds, and in one line what it skipped, and why; the last line of all is "N passed, N failed, N skipped".
# While the tests of one stage run, the next stages are built, in the order in which they run: at the lowest priority, which
# takes what the tests leave. While tests wait for what is built, it has the usual one, if that can be had back.
# The last stages are tested beside each other: each has a few long tests, which would run alone at its end.
cd "$(dirname "$0")/.." || exit 1
logs=build-check
side= # stages that are tested beside each other: their process groups

say() { printf '%-8s %s; %d s\n' "$1" "$2" $(($(date +%s) - began)); }

clean() { # at the end, however it comes
	for group in $side $builder; do kill -- -"$group" 2>/dev/null; done
	[ -z "$scratch" ] || rm -rf "$scratch"
}

fail() { # stage, log
	say "$1" "FAILED"
	tail -20 "$2"
	echo "$1" >>$logs/broken
}

# Each stage runs twice: by the builder, with half=build, and then with half=test. The builder leaves STAGE.built: how many
# seconds it took, or the log of what failed.
built() { # stage, what
	echo "$2" >"$logs/$1.part" && mv "$logs/$1.part" "$logs/$1.built"
}

# Until the builder got so far: fails, and says so, if it could not build that
wait_for_build() { # stage
	[ -e "$logs/$1.built" ] || renice -n 0 -g "$builder" >/dev/null 2>&1
	while [ ! -e "$logs/$1.built" ]; do
		kill -0 "$builder" 2>/dev/null || [ -e "$logs/$1.built" ] || built "$1" $logs/builder.log
		sleep 0.2
	done
	renice -n 19 -g "$builder" >/dev/null 2>&1
	took=$(cat "$logs/$1.built")
	[ ! -e "$took" ] || { fail "$1" "$took"; return 1; }
}

# stage, setup arguments..., "--", what to build..., "--", arguments for meson test
build_and_test() {
	stage=$1 dir=${build_in:-build-$1} log=$logs/$1.log
	[ $half = build ] || wait_for_build "$stage" || return
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
	if [ $half = build ]; then
		log=$logs/$stage.build.log began=$(date +%s)
		[ -f "$dir/build.ninja" ] || meson setup "$dir" --werror $setup >"$log" 2>&1 || { built "$stage" "$log"; return; }
		ninja -C "$dir" $targets >"$log" 2>&1 ||
			{ grep -E ': error:|: warning:|FAILED:' "$log" | grep -v 'ld.gold: warning: Cannot export' | tail -20 >"$log.errors"
			[ -s "$log.errors" ] && log=$log.errors; built "$stage" "$log"; return; }
		built "$stage" $(($(date +%s) - began))
		return
	fi
	# tests wait for a fifth of their time: three for each core. Time limits end what hangs, also on a busy machine
	meson test -C "$dir" --no-rebuild --logbase $stage --num-processes $(($(nproc) * 3)) --timeout-multiplier 5 "$@" >"$log" 2>&1
	cp "$dir/meson-logs/$stage.json" "$logs/$stage.json" 2>/dev/null || { fail "$stage" "$log"; return; }
	again=$(python3 ci/count.py --again "$logs/$stage.json")
	if [ -n "$again" ]; then
		meson test -C "$dir" --no-rebuild --logbase $stage.again --num-processes 1 --timeout-multiplier 5 $again >>"$log" 2>&1
		cp "$dir/meson-logs/$stage.again.json" "$logs/$stage.again.json"
	fi
	say "$stage" "$(python3 ci/count.py "$logs/$stage.json" | tail -1), built in $took s"
	python3 ci/count.py --why "$logs/$stage.json"
}

# Newer perfs than Debian 12's, where they can be had: tests that want them name what is missing.
referees() {
	[ $half = test ] || return
	dir=${XDG_CACHE_HOME:-${HOME:-$PWD/$logs}/.cache}/cyclade-perfs
	sh ci/perfs.sh "$dir" >$logs/perfs.log 2>&1
	[ -x "$dir/perf-6.12" ] && export CYCLADE_PERF612="${CYCLADE_PERF612:-$dir/perf-6.12}"
	[ -x "$dir/perf-7" ] && export CYCLADE_PERF7="${CYCLADE_PERF7:-$dir/perf-7}"
	cat $logs/perfs.log
}

# Each release of clang-format has its own opinions: what .clang-format was written for decides
stage_format() {
	python3 ci/lines.py >$logs/format.log 2>&1 || { fail format $logs/format.log; return; }
	tool=$(command -v clang-format-14 || command -v clang-format)
	version=$([ -z "$tool" ] || "$tool" --version | sed 's/.*version \([0-9]*\).*/\1/')
	[ "$version" = 14 ] || { say format "line widths ok, layout skipped: no clang-format 14, ${version:-none} here"; return; }
	sh ci/sources.sh | xargs -P "$(nproc)" -n 50 "$tool" --dry-run --Werror >$logs/format.log 2>&1 ||
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

# What a stage is for decides how it compiles: users' flags for gcc, where all suites run (web has a stage of its own;
# every, fuzz, and what builds the program anew, howto, run in the stage bare, with what is built there); else what
# compiles fastest and tests as well. The sanitizers look at every access, however slow; an emulator is better off with a
# little optimisation.
stage_gcc() { referees; CC=gcc build_and_test gcc --buildtype=release -Dfuzzers=none -- -- --no-suite every --no-suite howto --no-suite web; }
# Without the libraries that may be missing, and as a debugger wants it: what the optimiser hides comes to light
stage_bare() {
	CC=gcc build_and_test bare -Doptimization=0 -Ddebug=false -Dzydis=disabled -Dcapstone=disabled -Ddemangle=disabled \
		-Dminidebug=disabled -Dpfm=disabled -Dgraphviz=disabled -Dncurses=disabled -Dlibedit=disabled -Dmicrohttpd=disabled \
		-Dsqlite=disabled -- src/cli/cyclade tests-unit tests-fuzz tests-every -- \
		--suite unit --suite fuzz --suite every --suite howto
}
# Everything compiled by clang, warnings as errors, and all suites under clang's sanitizers: they find uses of dead
# stack frames too, and their runtime is linked into the program, so that the simulated PMU can be preloaded. A report says
# where memory was used, and not where it was allocated or freed (malloc_context_size=30 does): to keep that is a fifth of
# each start. Leaks are looked for at the end of one start in four (tests/lib/leaks.c).
stage_asan() {
	referees
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:allocator_may_return_null=1:detect_stack_use_after_return=1:malloc_context_size=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CYCLADE_SANITIZED=1 CC=clang \
		build_and_test asan -Doptimization=1 -Ddebug=true -Dc_args=-g1 \
		-Db_sanitize=address,undefined -Db_lundef=false -- --
}
stage_tsan() { # what has no threads has no races
	TSAN_OPTIONS=halt_on_error=1 CYCLADE_SANITIZED=1 \
		build_and_test tsan -Doptimization=1 -Ddebug=true -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false -- \
		tests-threads -- --suite threads
}
stage_arm64() {
	[ $half = test ] || sh ci/sysroot-arm64.sh build-arm64-root >$logs/arm64-root.log 2>&1 || { built arm64 $logs/arm64-root.log; return; }
	build_and_test arm64 -Doptimization=1 -Ddebug=false --cross-file build-arm64-root/cross.ini -- \
		src/cli/cyclade src/region/libcyclade.so.0.2.0 tests-unit -- --suite unit --no-suite chance
}

# What arm64 needs, too, on a real kernel in QEMU, for one core: the other builds. If Debian's packages cannot be had, the
# suite is skipped with the reason.
stage_guest() {
	if [ $half = build ]; then
		sh ci/sysroot-arm64.sh build-arm64-root >$logs/arm64-root.log 2>&1 || { built guest $logs/arm64-root.log; return; }
		sh ci/guest-arm64.sh build-guest-root >$logs/guest-root.log 2>&1
	fi
	export CYCLADE_GUEST="$PWD/build-guest-root"
	build_in=build-arm64
	build_and_test guest -Doptimization=1 -Ddebug=false --cross-file build-arm64-root/cross.ini -- \
		src/cli/cyclade tests/guest/guest_loop -- --suite guest
	build_in=
}

# web/dist is what a fresh build of web/src gives: the builder leaves page.said, or fails with page.log
build_page() {
	if ! command -v npm >/dev/null; then
		echo "the page is not built: there is no npm" >$logs/page.said
	elif (cd web && npm ci --ignore-scripts) >$logs/page.log 2>&1; then
		sh web/build.sh --check >$logs/page.log 2>&1 || return
		tail -1 $logs/page.log >$logs/page.said
	else
		grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH' $logs/page.log || return
		echo "the page is not built: npm's registry cannot be reached" >$logs/page.said
	fi
}

# The page, and what gcc built shown in Chromium: as much work as a tenth of all other suites.
stage_web() {
	if [ $half = build ]; then
		build_page || { built web $logs/page.log; return; }
	fi
	build_in=build-gcc
	CC=gcc build_and_test web --buildtype=release -- -- --suite web
	build_in=
	[ $half = build ] || [ ! -e $logs/page.said ] || say web "$(cat $logs/page.said)"
}

# In the background, as a process group of its own: its priority can be set, and it ends with this
group() { exec python3 -c 'import os, sys; os.setpgid(0, 0); os.execvp("sh", ["sh"] + sys.argv[1:])' ci/check.sh "$@"; }

if [ "$1" = --test ]; then
	half=test builder=$2 began=$(date +%s)
	"stage_$3"
	exit
elif [ "$1" = --build ]; then
	half=build
	shift
	for stage; do
		kill -0 $PPID || exit # who would test it?
		"stage_$stage"
	done
	exit
fi
all="format rooms docs gcc web guest asan bare tsan arm64"
stages=${*:-$all}
for stage in $stages; do
	case " $all " in
	*" $stage "*) ;;
	*) echo "check: no stage $stage; there are: $all" >&2; exit 2 ;;
	esac
done
rm -rf $logs
mkdir -p $logs
made=$(echo " $stages " | sed 's/ format / /; s/ rooms / /; s/ docs / /')
# Tests start python3 thousands of times: Debian's runs in two thirds of the time of one that was built by hand, and starts sooner
# than a shim that looks for one
mkdir $logs/bin
if [ -x /usr/bin/python3 ]; then
	ln -s /usr/bin/python3 $logs/bin/python3
else
	ln -s "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')" $logs/bin/python3
fi
PATH="$PWD/$logs/bin:$PATH"
export PATH
# They make and remove thousands of files, too: in memory that costs little, where there is enough, and programs run from it
scratch=
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ] 2>/dev/null; then
	scratch=$(mktemp -d /dev/shm/XXXXXX) && chmod 1777 "$scratch" && cp /bin/true "$scratch/true" &&
		"$scratch/true" 2>/dev/null && export TMPDIR="$scratch"
fi
group --build $made >$logs/builder.log 2>&1 &
builder=$!
trap clean EXIT
trap 'exit 130' INT TERM HUP
half=test
for stage in $stages; do
	began=$(date +%s)
	case $stage in
	bare | tsan | arm64)
		group --test $builder $stage &
		side="$side $!"
		;;
	*) "stage_$stage" ;;
	esac
done
wait $side $builder
side= builder=
python3 ci/count.py --broken "$(cat $logs/broken 2>/dev/null)" $logs/*.json
