/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_lines_int - which bytes of the cache lines of an object its samples use, for
 * memory_objects.c.
 *
 * Kept are pieces of 64 bytes, as the size of a line is not asked for until the end. An object has
 * LINES_PIECES of them at most: if it has more, those whose address hashes to a multiple of two are
 * kept, then of four and so on. This choice depends on no order, so joining the pieces of several
 * workers gives the same as one worker.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_LINES_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_LINES_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/hash.h"
#include "base/vec.h"

#define LINES_PIECES 1024u
#define LINES_PIECE  64u
#define LINES_BLOCK  256u /* a line at most: its pieces are kept together */

struct lines_piece {
	uint64_t address; /* of its first byte */
	uint32_t pid;
	uint64_t seen[3]; /* its bytes that were seen at least once, twice, three times */
	uint64_t samples; /* that begin in it */
	uint64_t bytes;	  /* that samples accessed in it, each as often as it was */
};

/* The lines of an object. */
struct lines_of {
	VEC(struct lines_piece) v;
	struct itab at;
	unsigned shift; /* one in 1 << shift blocks of addresses is kept */
	bool no_width;	/* some samples have no width */
};

struct memory_lines {
	VEC(struct lines_of) of; /* by object, as far as any sample had a width */
};

static inline bool lines_are_kept(const struct lines_of *o, uint32_t pid, uint64_t address)
{
	return !o->shift ||
	       !(hash_pair(address / LINES_BLOCK, pid) & ((UINT64_C(1) << o->shift) - 1));
}

static inline uint64_t lines_hash(uint32_t pid, uint64_t address)
{
	return itab_hash(address, pid);
}

#define LINES_LEFT_OUT 0u

/* Prefetch for an access that waits to be added, in two steps; `ahead` is the result of the first:
 * LINES_LEFT_OUT if no piece of it is kept, now or later. */
static inline uint64_t memory_lines_ahead(const struct memory_lines *w, uint32_t object,
					  const struct memop *op, uint32_t pid)
{
	const struct lines_of *o = object < w->of.n ? &w->of.v[object] : NULL;
	uint64_t h = lines_hash(pid, op->address & ~(uint64_t)(LINES_PIECE - 1));

	if (o && op->address % LINES_BLOCK + op->width <= LINES_BLOCK &&
	    !lines_are_kept(o, pid, op->address))
		return LINES_LEFT_OUT;
	if (o)
		itab_ahead(&o->at, h);
	return h == LINES_LEFT_OUT ? LINES_LEFT_OUT + 1 : h;
}

static inline void memory_lines_near(const struct memory_lines *w, uint32_t object, uint64_t ahead)
{
	const struct lines_of *o = object < w->of.n ? &w->of.v[object] : NULL;
	size_t slot = o ? itab_first(&o->at, ahead) : 0;
	uint32_t idx;

	if (o && ahead != LINES_LEFT_OUT && itab_at(&o->at, &slot, ahead, &idx))
		__builtin_prefetch(&o->v.v[idx], 1);
}

int memory_lines_add_kept(struct memory_lines *w, uint32_t object, const struct memop *op,
			  uint32_t pid) MUST_USE;
static inline MUST_USE int memory_lines_add(struct memory_lines *w, uint32_t object,
					    const struct memop *op, uint32_t pid, uint64_t ahead)
{
	if (!(op->has & MEMOP_HAS_ADDRESS) || op->set[MEMOP_KIND] & MEMOP_KIND_PREFETCH ||
	    !(op->set[MEMOP_KIND] & (MEMOP_KIND_LOAD | MEMOP_KIND_STORE)))
		return 0;
	if (ahead != LINES_LEFT_OUT)
		return memory_lines_add_kept(w, object, op, pid);
	w->of.v[object].no_width |= !op->width;
	return 0;
}

int memory_lines_join(struct memory_lines *w, const struct memory_lines *x,
		      const uint32_t *to) MUST_USE;
/* Fills the lines of objects, which are still in the order that they were met in. */
void memory_lines_fold(struct memory_lines *w, struct memory_object *object, size_t n,
		       uint32_t line_size);
void memory_lines_free(struct memory_lines *w);

#endif
