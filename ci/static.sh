#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `static.sh BUILD`: links the objects of a build once more, as one file that needs no library: BUILD/cyclade-static.
# Debian has no archive of cJSON and Zydis: they are compiled from the sources of the same release (apt-get source, which
# checks signatures), or from the folder SOURCES. Libraries that are opened at the first need are linked in, and found by a
# table of names in place of dlopen(): what a static program opens would bring a second C library. Without Graphviz,
# libmicrohttpd and debuginfod, which lack an archive or bring a dozen others: `cyclade --version` says so.
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] && [ -f "$1/build.ninja" ] || { echo "usage: $0 BUILD (a folder that make has built)" >&2; exit 2; }
build=$(cd "$1" && pwd)
dir=$build/static
mkdir -p "$dir"
say() { echo "static: $*" >&2; }
trap '[ $? -eq 0 ] || say "failed"' EXIT

sources() { # into $dir/src
	apt=$dir/apt
	rm -rf "$apt" "$dir/src"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$dir/src"
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' >"$apt/list.list"
	for f in /etc/apt/sources.list.d/*.sources; do
		[ ! -f "$f" ] || { sed 's/^Types:.*/Types: deb-src/' "$f"; echo; } >>"$apt/list.sources"
	done
	cat >"$apt/conf" <<-END
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$apt";
		Dir::State::Lists "$apt/lists";
		Dir::Cache "$apt/cache";
		APT::Sandbox::User "";
	END
	say "fetching the sources of cJSON and Zydis (10 s)"
	(export APT_CONFIG="$apt/conf" && apt-get update -qq && cd "$dir/src" && apt-get source -qq --download-only cjson zydis) >"$dir/log" 2>&1 ||
		{ tail -5 "$dir/log" >&2; exit 1; }
	for f in "$dir"/src/*.orig.tar.*; do tar -xf "$f" -C "$dir/src"; done
	rm -rf "$apt"
}

if [ ! -f "$dir/libothers.a" ]; then
	src=${SOURCES:-}
	[ -n "$src" ] || { sources; src=$dir/src; }
	say "compiling cJSON and Zydis (15 s)"
	zydis=$(dirname "$(find "$src" -path '*/src/DecoderData.c' | head -1)")
	cjson=$(find "$src" -name cJSON.c | head -1)
	[ -n "$cjson" ] && [ -f "$zydis/DecoderData.c" ] || { say "no cJSON.c, or no Zydis, below $src"; exit 1; }
	mkdir -p "$dir/obj"
	for f in "$cjson" "$zydis"/*.c; do
		${CC:-cc} -O2 -w -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -I"$zydis/../include" -I"$zydis" -c "$f" -o "$dir/obj/$(basename "$f").o"
	done
	rm -f "$dir/libothers.a"
	ar rcs "$dir/libothers.a" "$dir"/obj/*.o
fi

# What library_open() looks for: CALL(prefix, name) of the sources, CALL(name) of the lists
cd "$top/src"
{
	sed -n 's/^.*CALL(\([a-z_]*\), \([a-z_0-9]*\)).*/\1\2/p' cli/recordings/prompt.c symbol/insn/disasm_arm64.c measure/pfm.c
	sed -n 's/^CALL(\([a-z_0-9]*\)).*/\1/p' cli/screen/curses.def
	sed -n 's/^CALL(\([a-z_0-9]*\)).*/sqlite3_\1/p' store/sqlite.def
} | sort -u >"$dir/names"
{
	sed 's/.*/extern char &[];/' "$dir/names"
	echo 'static const struct static_name static_names[] = {'
	sed 's/.*/	{ "&", & },/' "$dir/names"
	echo '};'
} >"$dir/static_names.h.new"
sed -i '1i struct static_name { const char *name; void *at; };' "$dir/static_names.h.new"
mv "$dir/static_names.h.new" "$dir/static_names.h"
say "linking"
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -w -I. -I"$dir" -c base/static/library_static.c -o "$dir/library_static.o"
cd "$build"
${CC:-cc} -static -o "$dir/out" src/cli/cyclade.p/main.c.o "$dir/library_static.o" -Wl,--start-group \
	$(ls src/cli/libcli.a src/*/lib*.a | sort -u) -Wl,--end-group "$dir/libothers.a" \
	-Wl,--start-group -ldw -lelf -lz -lzstd -llzma -lbz2 -lxxhash -liberty -lsqlite3 -lcapstone -lpfm -lncursesw -ltinfo -ledit -lbsd -lmd -lm -Wl,--end-group \
	-Wl,-z,relro -Wl,-z,noexecstack >"$dir/log" 2>&1 || { grep -v warning "$dir/log" | head -20 >&2; exit 1; }
strip "$dir/out"
mv "$dir/out" "$build/cyclade-static"
say "$1/cyclade-static: $(($(wc -c <"$build/cyclade-static") / 1000000)) MB; what is left out: --version"
