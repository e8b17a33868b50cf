/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_walks_int - page walks by object and page size, for memory_objects.c.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_WALKS_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_WALKS_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/vec.h"

/* Samples of an object, a page size and a source, without a walk and with one. */
struct memory_stratum {
	uint64_t key[2];
	uint64_t first; /* its first sample's place in the file */
	uint32_t object;
	uint64_t page, told;
	struct walk_sum {
		uint64_t n, timed;
		double cycles, squares;
	} walk[2];
	double refill, refill_squares; /* as AMD measures it */
	uint64_t refills;
	/* of refills: what they have beyond the samples' latencies, and of the squares of both */
	double beyond, beyond_squares;
};

struct memory_walks {
	VEC(struct memory_stratum) v;
	struct itab at;
};

/* As those of memory_lines_int.h. */
uint64_t memory_walks_ahead(const struct memory_walks *w, uint32_t object, const struct memop *op);
void memory_walks_near(const struct memory_walks *w, uint64_t ahead);
int memory_walks_add(struct memory_walks *w, uint32_t object, const struct memop *op,
		     uint64_t at) MUST_USE;
/* Those of another thread, whose objects have other numbers here. */
int memory_walks_join(struct memory_walks *w, const struct memory_walks *x,
		      const uint32_t *to) MUST_USE;
void memory_walks_rename(struct memory_walks *w, const uint32_t *to);
/* Fills o->pages. */
int memory_walks_fold(struct memory_walks *w, struct memory_objects *o) MUST_USE;
void memory_walks_free(struct memory_walks *w);

#endif
