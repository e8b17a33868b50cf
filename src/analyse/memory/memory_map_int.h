/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_map_int - the map of memory, for memory_objects.c.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_MAP_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_MAP_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/vec.h"

/* Samples of a thread on a page in a column of time. */
struct map_cell {
	uint64_t page;
	uint32_t pid, tid, object;
	uint8_t at;
	uint32_t samples, stores;
	uint64_t first; /* its first sample's place in the file: whose object that is */
};

struct memory_map_work {
	bool on;
	uint64_t first, last;
	VEC(struct map_cell) cell;
	struct itab place;
	VEC(struct memory_region) region;
	VEC(struct memory_map_row) row;
};

/* `task` as of pass_sample; nothing is done unless w->on. */
int memory_map_add(struct memory_map_work *w, uint32_t object, const struct memop *op,
		   uint64_t task, uint64_t time, uint64_t at) MUST_USE;
/* As memory_walks_join(). */
int memory_map_join(struct memory_map_work *w, const struct memory_map_work *x,
		    const uint32_t *to) MUST_USE;
void memory_map_rename(struct memory_map_work *w, const uint32_t *to);
/* Fills o->map. */
int memory_map_fold(struct memory_map_work *w, struct memory_objects *o) MUST_USE;
void memory_map_free(struct memory_map_work *w);

#endif
