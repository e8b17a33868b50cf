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
	uint32_t file; /* id in the unit's files; SRC_NONE: behind the end of a sequence */
	uint32_t line;
};

struct src_call { /* one inlined call */
	const char *name;
	const char *file;
	uint32_t line;
	uint32_t parent; /* the inlined call around it, or SRC_NONE */
};

struct src_unit_tab {
	VEC(struct src_row) rows;
	VEC(const char *) files; /* libdw's memory */
	VEC(struct src_call) calls;
	src_segments inl; /* ids are into calls */
};

struct src_unit {
	Dwarf_Die die; /* the skeleton's where DWARF is split */
	_Atomic(struct src_unit_tab *) tab;
};

struct src_exec { /* where the program headers say code is */
	uint64_t lo, hi;
};

struct source {
	int fd;
	Elf *elf;
	Dwarf *dw;
	size_t file_size;
	bool raw_names; /* set before the first look-up: do not demangle */
	VEC(struct src_unit) units;
	src_segments where; /* ids are into units */
	VEC(struct src_exec) exec;
	/* What follows is written while reading a unit, under the lock (libdw is not thread-safe).
	 */
	pthread_mutex_t lock;
	struct arena arena;
	struct u64map names; /* a DIE's address -> a name in the arena */
};

/* True where code can be at `addr`. Linkers leave dropped functions' debug information at 0 or -1.
 */
bool src_is_code(const struct source *s, uint64_t addr);

/* Fill a unit's table; -1 only for lack of memory (broken DWARF gives what could be read). */
int src_read_lines(struct source *s, Dwarf_Die *unit, struct src_unit_tab *t) MUST_USE;
int src_read_inlines(struct source *s, Dwarf_Die *unit, struct src_unit_tab *t) MUST_USE;

#endif
