/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_int - the parts of memory.c: groups of samples, folded from counts (memory_fold.c), named
 * (memory_name.c), each with its latencies (memory_bins.c).
 *
 *	memory_count(&w->c, ...)	(memory_count_int.h)
 *	memory_fold(w, spaces, &err)
 *	memory_sum(w), the groups are put in order, memory_make_spreads(m, w)
 *
 * A group knows the groups that it was folded from; how often it had each latency is added up from
 * theirs, on demand.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_INT_H

#include "analyse/itab.h"
#include "analyse/memory.h"
#include "analyse/memory/memory_count_int.h"
#include "base/vec.h"

#define MEMORY_NONE UINT32_MAX

/* A group that is a part of another. */
struct memory_part {
	uint32_t group, next;
};

/* Latencies of a tally. */
struct memory_sums {
	uint64_t n, sum;
	double squares; /* not of large ones */
	uint32_t most;
	bool large;
};

struct memory_bins;

struct memory_scan;

struct memory_work {
	struct spaces *spaces;
	struct memory_scan *scan; /* until the walk is over, as are: */
	bool *events;
	struct memory_objects *objects; /* NULL: not wanted */
	struct memop_how *how;
	struct memory_tallies c;
	VEC(struct memory_group) group;
	VEC(uint32_t) first; /* part, by the group's place */
	VEC(struct memory_part) part;
	struct itab group_at;
	VEC(struct memory_spread) spread;
	struct memory_sums *sums; /* of tallies, by latency: those of c.latencies */
	unsigned latencies, latency_at[MEMOP_LATENCIES]; /* their number, and their index */
	struct memory_bins *bins;
	struct memory_layout *layout;
	bool files_too;		   /* MEMORY_FILE */
	struct strtab files, rows; /* rows: of the tables of types and fields */
};

/* All groups, from the tallies; those of tallies come first, at the same place. */
int memory_fold(struct memory_work *w, struct err *err) MUST_USE;
/* Symbols and lines of instructions, types and fields of accesses. */
int memory_name_groups(struct memory_work *w, struct err *err) MUST_USE;
/* -1: out of memory, here and below */
int memory_sum(struct memory_work *w) MUST_USE;
/* When the groups are in their order. */
int memory_make_spreads(struct memory *m, struct memory_work *w) MUST_USE;
void memory_bins_free(struct memory_bins *b); /* NULL is fine */

#endif
