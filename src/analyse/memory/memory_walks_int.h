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
	/* of refills: their excess over the samples' latencies, and of the squares of both */
	double beyond, beyond_squares;
};

struct memory_walks {
	VEC(struct memory_stratum) v;
	struct itab at;
};

/* The two halves of a stratum's key. */
static inline uint64_t walks_source_key(uint32_t object, const struct memop *op)
{
	return (uint64_t)object << 32 | (uint64_t)op->set[MEMOP_KIND] << 16 |
	       (uint64_t)op->level << 8 | op->where;
}

static inline uint64_t walks_page_key(const struct memop *op)
{
	uint64_t page = op->has & MEMOP_HAS_PAGE ? op->page : 0;

	return page << 2 | (op->has & MEMOP_HAS_HIT ? 1 + (uint64_t)op->hit : 0);
}

/* As those of memory_lines_int.h; `ahead` is the hash of the key. */
static inline uint64_t memory_walks_ahead(const struct memory_walks *w, uint32_t object,
					  const struct memop *op)
{
	uint64_t h = itab_hash(walks_source_key(object, op), walks_page_key(op));

	itab_ahead(&w->at, h);
	return h;
}

static inline void memory_walks_near(const struct memory_walks *w, uint64_t ahead)
{
	size_t slot = itab_first(&w->at, ahead);
	uint32_t idx;

	if (itab_at(&w->at, &slot, ahead, &idx))
		__builtin_prefetch(&w->v.v[idx], 1);
}

int memory_walks_add(struct memory_walks *w, uint32_t object, const struct memop *op, uint64_t at,
		     uint64_t ahead) MUST_USE;
/* Adds those of another thread; its objects have other numbers here. */
int memory_walks_join(struct memory_walks *w, const struct memory_walks *x,
		      const uint32_t *to) MUST_USE;
void memory_walks_rename(struct memory_walks *w, const uint32_t *to);
/* Fills o->pages. */
int memory_walks_fold(struct memory_walks *w, struct memory_objects *o) MUST_USE;
void memory_walks_free(struct memory_walks *w);

#endif
