/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_lines_int - which bytes of the cache lines of an object its samples use, for
 * memory_objects.c.
 *
 * Kept are pieces of 64 bytes, as the size of a line is not asked for until the end. An object has
 * LINES_PIECES of them at most: where it has more, those whose address hashes to a multiple of two
 * are kept, then of four and so on. Which ones that are depends on no order, so the pieces that
 * several workers have are joined into what one of them would have.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_LINES_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_LINES_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/vec.h"

#define LINES_PIECES 1024u

struct lines_piece {
	uint64_t address; /* of its first byte */
	uint32_t pid;
	uint64_t seen[3]; /* its bytes that were seen at least once, twice, three times */
	uint64_t samples; /* that begin in it */
	uint64_t bytes;	  /* that samples accessed in it, each as often as it was */
};

/* Of an object. */
struct lines_of {
	VEC(struct lines_piece) v;
	struct itab at;
	unsigned shift; /* one in 1 << shift blocks of addresses is kept */
	bool no_width;	/* some samples do not tell theirs */
};

struct memory_lines {
	VEC(struct lines_of) of; /* by object, as far as any sample had a width */
};

/* Of an access that waits to be added: asks for what its step will read, in two steps; `ahead` is
 * what the first gave. */
uint64_t memory_lines_ahead(const struct memory_lines *w, uint32_t object, uint64_t address,
			    uint32_t pid);
void memory_lines_near(const struct memory_lines *w, uint32_t object, uint64_t ahead);
int memory_lines_add(struct memory_lines *w, uint32_t object, const struct memop *op,
		     uint32_t pid) MUST_USE;
int memory_lines_join(struct memory_lines *w, const struct memory_lines *x,
		      const uint32_t *to) MUST_USE;
/* Fills the lines of objects, which are still in the order that they were met in. */
void memory_lines_fold(struct memory_lines *w, struct memory_object *object, size_t n,
		       uint32_t line_size);
void memory_lines_free(struct memory_lines *w);

#endif
