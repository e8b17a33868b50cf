/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_int - what the files of source share: the unit table, a unit's rows and inlined calls, and
 * the flattening of overlapping intervals into disjoint ones.
 *
 * Everything here reads DWARF, which is hostile: depths, chains and counts are bounded, and the
 * bounds are in proportion to the size of the file.
 */
#ifndef CYCLADE_SYMBOL_SOURCE_INT_H
#define CYCLADE_SYMBOL_SOURCE_INT_H

#include <elfutils/libdw.h>
#include <pthread.h>
#include <string.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbol/source.h"

#define SRC_NONE UINT32_MAX

enum {
	SRC_MAX_DEPTH = 200, /* of nested DIEs */
	SRC_MAX_CHAIN = 16,  /* of abstract origins and specifications */
	SRC_MAX_PARTS = 64,  /* of a path in a name */
};

/* An interval before flattening: where several overlap, the deepest wins, then the latest. */
struct src_interval {
	uint64_t lo, hi;
	uint32_t depth, id;
};

/* After: `id` holds from `lo` to the next segment's `lo`; SRC_NONE in a gap. */
struct src_segment {
	uint64_t lo;
	uint32_t id;
};

typedef VEC(struct src_interval) src_intervals;
typedef VEC(struct src_segment) src_segments;

/* Sorts `in` and fills `out`. -1 when out of memory. */
int src_flatten(src_intervals *in, src_segments *out) MUST_USE;
uint32_t src_segment_at(const struct src_segment *v, size_t n, uint64_t addr);

struct src_row { /* holds up to the next row's address */
	uint64_t addr;
	uint32_t file; /* number in the unit's files; SRC_NONE: behind the end of a sequence */
	uint32_t line, discriminator;
};

/* A function as it is declared; several DIEs may describe it. */
struct src_decl {
	const char *shown;
	const char *linkage; /* if the function is external, else NULL */
	Dwarf_Die file_die;  /* the DIE that has the file's number, if addr is set */
	uint32_t file, line; /* line 0: unknown */
	const char *path;    /* of the file, NULL: unknown or not read */
	bool path_read;
	const char *apart;     /* NAME@FILE:LINE, NULL: `shown` is its own or nothing else helps */
	struct src_decl *next; /* another function of that name */
};

struct src_name { /* of a function, wherever it is described */
	const char *shown, *linkage;
	uint32_t first_line;
	bool external;
	Dwarf_Die file_die; /* the first of its DIEs that has a file; addr NULL: none */
	uint32_t file;
	_Atomic(struct src_decl *) decl; /* NULL: not met by a look-up */
};

struct src_call { /* one inlined call */
	struct src_name *name;
	uint32_t file; /* number among the unit's files, or SRC_NONE */
	uint32_t line, discriminator;
	uint32_t parent; /* the inlined call around it, or SRC_NONE */
};

/* By number, as line rows and call sites have it; full names (source.h), NULL for what has none. */
typedef VEC(const char *) src_file_names;

struct src_line_tab {
	VEC(struct src_row) rows;
	src_file_names files;
};

struct src_call_tab {
	VEC(struct src_call) calls;
	src_segments inl; /* ids are into calls */
	VEC(struct src_name *) functions;
	src_segments code; /* ids are into functions */
};

struct src_file_tab { /* of a split unit, whose own table call sites use */
	src_file_names files;
};

/* Each table is read when something in it is first asked for. */
struct src_unit {
	Dwarf_Die die; /* the skeleton's where DWARF is split */
	_Atomic(struct src_line_tab *) lines;
	_Atomic(struct src_call_tab *) calls;
	_Atomic(struct src_file_tab *) files;
};

struct src_exec { /* where the program headers say code is */
	uint64_t lo, hi;
};

struct source {
	int fd;
	Elf *elf;
	Dwarf *dw;
	size_t file_size;
	bool raw_names;		       /* set before the first look-up: do not demangle */
	struct line_sections sections; /* unpacked */
	bool spoiled;		       /* libdw had no memory for it: not read again */
	VEC(struct src_unit) units;
	src_segments where; /* ids are into units */
	VEC(struct src_exec) exec;
	/* What follows is written while reading a unit, under the lock (libdw is not thread-safe).
	 */
	pthread_mutex_t lock;
	struct arena arena;
	struct u64map names;   /* a DIE's address -> a struct src_name in the arena */
	struct u64map decls;   /* a shown name's hash -> the first struct src_decl met */
	struct u64map sums;    /* a file name's address -> a struct source_sum in the arena */
	struct u64map headers; /* a unit's address -> a struct line_files in the arena */
};

/* Calls fn(ctx), which may call libdw. Returns false if memory runs out in libdw. Call it under the
 * lock once there are several threads. */
bool src_read_dwarf(struct source *s, void (*fn)(void *ctx), void *ctx) MUST_USE;
/* True where code can be at `addr`. Linkers leave dropped functions' debug information at 0 or -1.
 */
bool src_is_code(const struct source *s, uint64_t addr);

/* Make one of a unit's tables; NULL only for lack of memory (broken DWARF gives what could be
 * read).
 */
struct src_line_tab *src_read_lines(struct source *s, Dwarf_Die *unit) MUST_USE;
struct src_call_tab *src_read_inlines(struct source *s, Dwarf_Die *unit) MUST_USE;
struct src_file_tab *src_read_files(struct source *s, Dwarf_Die *unit) MUST_USE;
/* source_names.c: the full names of a unit's n files; and what the unit's own line program knows of
 * their contents, kept for source_file_sum(). -1: out of memory. */
int src_name_files(struct source *s, Dwarf_Die *unit, Dwarf_Files *files, size_t n,
		   src_file_names *out) MUST_USE;
int src_sum_files(struct source *s, Dwarf_Die *unit, const src_file_names *names) MUST_USE;
/* The full name of file number `file` of the unit that `die` is in, without "." and ".."; in the
 * arena. NULL: unknown. -1: out of memory. */
int src_decl_path(struct source *s, Dwarf_Die *die, uint32_t file, const char **out) MUST_USE;
/* source_apart.c, under the lock: the functions of one name that look-ups met. -1: out of memory.
 */
int src_meet(struct source *s, struct src_name *name) MUST_USE;
int src_set_apart(struct source *s, struct src_decl *d) MUST_USE; /* sets d->apart */
void src_find_line_sections(struct source *s);
void src_lines_free(struct src_line_tab *t); /* NULL is fine */
void src_inlines_free(struct src_call_tab *t);
void src_files_free(struct src_file_tab *t);

/* The DIE that has the unit's contents, where DWARF is split; the unit's own where they cannot be
 * had, or where something else than a file stands in the place of one. */
Dwarf_Die src_contents(const struct source *s, const Dwarf_Die *unit);
/* Whether libdw may look for dwz's alternate file: no FIFO or device stands there. */
bool src_alternate_is_harmless(const struct source *s);

#endif
