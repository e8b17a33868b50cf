/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_cells_int - accesses while they are counted. A cell is an access whose samples have the
 * same latencies. These are kept in rows one behind the other, so that a sample of one of many
 * thousand instructions costs two lines of memory and no histogram.
 *
 *	hash = memory_cell_hash(a, b)
 *	memory_cells_ahead(&c, hash)	of a sample that waits: prefetches for the next step
 *	memory_cells_reserve(&c, n)	no cell moves while n are asked for; -1: out of memory
 *	x = memory_cell_of(&c, a, b, hash)
 *	memory_cell_near(x) prefetches the place of the next row
 *	memory_cell_add(&c, x, row)	x->n is below MEMORY_CELL_ROWS; -1: out of memory
 *	... x->n is MEMORY_CELL_ROWS: its rows go to histograms, and n becomes 0 ...
 *	memory_cells_move(&all, &c)	each worker's, into all.v; nothing is added from then on
 *	memory_cells_free(&c)
 *
 * While samples come, cells stand in the slot of their hash: one that is found is read already.
 *
 * A row has a number for each latency of the cell, by enum memop_latency, then the open misses. A
 * value of more than 16 bits has to be kept elsewhere, in a cell without that latency.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_CELLS_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_CELLS_INT_H

#include <string.h>

#include "analyse/itab.h"
#include "base/vec.h"
#include "perfdata/memop.h"

#define MEMORY_CELL_ROWS 512u
#define MEMORY_ROW	 (MEMOP_LATENCIES + 1u) /* numbers of a row, at most */

/* b of a cell, by lowest bit. Below: key[1] of its MEMORY_ACCESS. */
enum {
	CELL_KIND = 40, /* load 1, store 2 */
	CELL_OPEN = 42,
	CELL_LATENCIES = 48,
	CELL_USED = 63, /* always: 0 is an empty place */
};

#define MEMORY_CELL_NONE  UINT32_MAX /* no next one */
#define MEMORY_CELL_SIZES 7u	     /* of its room: each twice the one before */

/* Two to a line of memory. */
struct memory_cell {
	uint64_t a, b;
	uint16_t *row;
	uint32_t next; /* of the same access; the user's */
	uint16_t n;
	uint8_t size, numbers; /* its room is 4 << size rows, 0: none; numbers: of a row */
};

_Static_assert(sizeof(struct memory_cell) == 32, "two to a line");

struct memory_cells {
	struct memory_cell *slot; /* a power of two of them; b 0: empty */
	size_t n_slots, n;
	VEC(struct memory_cell) v;
	VEC(void *) block;
	uint16_t *from, *to; /* the rest of the last one */
	uint16_t *spare[MEMORY_CELL_SIZES + 1][MEMORY_ROW + 1];
};

static inline unsigned memory_latencies_of(uint64_t b)
{
	return (unsigned)(b >> CELL_LATENCIES) & ((1u << MEMOP_LATENCIES) - 1);
}

static inline uint64_t memory_access_of(uint64_t b)
{
	return b & ((UINT64_C(1) << CELL_KIND) - 1);
}

static inline unsigned memory_kind_of(uint64_t b)
{
	return b >> CELL_KIND & 3;
}

static inline bool memory_open_of(uint64_t b)
{
	return b >> CELL_OPEN & 1;
}

static inline uint64_t memory_cell_access(const struct memory_cell *x)
{
	return memory_access_of(x->b);
}

static inline unsigned memory_cell_kind(const struct memory_cell *x)
{
	return memory_kind_of(x->b);
}

static inline unsigned memory_cell_latencies(const struct memory_cell *x)
{
	return memory_latencies_of(x->b);
}

static inline bool memory_cell_open(const struct memory_cell *x)
{
	return memory_open_of(x->b);
}

static inline unsigned memory_cell_room(const struct memory_cell *x)
{
	return x->size ? 4u << x->size : 0;
}

/* The first row's number of a latency; NULL: it has none. The next is x->numbers behind. */
static inline const uint16_t *memory_cell_column(const struct memory_cell *x, unsigned latency)
{
	unsigned has = memory_cell_latencies(x);

	return has >> latency & 1 ? x->row + __builtin_popcount(has & ((1u << latency) - 1)) : NULL;
}

static inline uint64_t memory_cell_hash(uint64_t a, uint64_t b)
{
	return itab_hash(a, b);
}

/* Returns the slot to look at first. */
static inline size_t memory_cell_slot(const struct memory_cells *c, uint64_t hash)
{
	return (size_t)(hash >> 32) & (c->n_slots - 1);
}

static inline void memory_cells_ahead(const struct memory_cells *c, uint64_t hash)
{
	if (c->slot)
		__builtin_prefetch(&c->slot[memory_cell_slot(c, hash)], 1);
}

int memory_cells_widen(struct memory_cells *c, size_t more) MUST_USE;
static inline MUST_USE int memory_cells_reserve(struct memory_cells *c, size_t more)
{
	return (c->n + more) * 3 <= c->n_slots * 2 ? 0 : memory_cells_widen(c, more);
}

void memory_cell_begin(struct memory_cells *c, struct memory_cell *x, uint64_t a, uint64_t b);
static inline struct memory_cell *memory_cell_of(struct memory_cells *c, uint64_t a, uint64_t b,
						 uint64_t hash)
{
	for (size_t i = memory_cell_slot(c, hash);; i = (i + 1) & (c->n_slots - 1)) {
		struct memory_cell *x = &c->slot[i];

		if (x->a == a && x->b == b)
			return x;
		if (!x->b) {
			memory_cell_begin(c, x, a, b);
			return x;
		}
	}
}

static inline void memory_cell_near(const struct memory_cell *x)
{
	if (x->row)
		__builtin_prefetch(x->row + (size_t)x->n * x->numbers, 1);
}

int memory_cell_grow(struct memory_cells *c, struct memory_cell *x) MUST_USE;
int memory_cells_move(struct memory_cells *to, struct memory_cells *c) MUST_USE;
void memory_cells_free(struct memory_cells *c);

/* All of `row` is written, and numbers behind the cell's are overwritten by the next row. */
static inline MUST_USE int memory_cell_add(struct memory_cells *c, struct memory_cell *x,
					   const uint16_t row[MEMORY_ROW])
{
	if (x->n == memory_cell_room(x) && memory_cell_grow(c, x))
		return -1;
	memcpy(x->row + (size_t)x->n++ * x->numbers, row, MEMORY_ROW * sizeof(*row));
	return 0;
}

#endif
