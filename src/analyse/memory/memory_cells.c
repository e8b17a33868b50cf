/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_cells_int.h"

#include <stdlib.h>

#include "base/big.h"

#define BLOCK_LEAST ((size_t)32 << 10)

_Static_assert(MEMORY_CELL_ROWS == 4u << MEMORY_CELL_SIZES, "the largest room");

/* In large pages where there are many: memory that is cleared in small pages costs more than what
 * is written to it. */
static int add_block(struct memory_cells *c)
{
	size_t size = BLOCK_LEAST << c->block.n;
	void *p;

	if (c->block.n > 16 || size > BIG_PAGE)
		size = BIG_PAGE;
	p = big_alloc(size, 1);
	if (!p)
		return -1;
	if (vec_push(&c->block, p)) {
		free(p);
		return -1;
	}
	c->from = p;
	c->to = c->from + size / sizeof(*c->to);
	return 0;
}

/* A row is written as if it were as long as they get. A spare piece begins with the next one. */
static size_t piece_of(unsigned size, unsigned numbers)
{
	return size ? ((4u << size) * (size_t)numbers + MEMORY_ROW + 3) & ~(size_t)3 : 0;
}

int memory_cell_grow(struct memory_cells *c, struct memory_cell *x)
{
	unsigned size = x->size + 1u;
	uint16_t **spare = &c->spare[size][x->numbers], *row = *spare;
	size_t piece = piece_of(size, x->numbers);

	if (row) {
		memcpy(spare, row, sizeof(*spare));
	} else {
		if ((size_t)(c->to - c->from) < piece && add_block(c))
			return -1;
		row = c->from;
		c->from += piece;
	}
	if (x->size) {
		memcpy(row, x->row, (size_t)x->n * x->numbers * sizeof(*row));
		spare = &c->spare[x->size][x->numbers];
		memcpy(x->row, spare, sizeof(*spare));
		*spare = x->row;
	}
	x->row = row;
	x->size = (uint8_t)size;
	return 0;
}

struct memory_cell *memory_cell_of(struct memory_cells *c, uint64_t a, uint64_t b, uint64_t hash)
{
	struct memory_cell *x;
	uint32_t idx;

	for (size_t i = itab_first(&c->at, hash); itab_at(&c->at, &i, hash, &idx);) {
		x = &c->v.v[idx];
		if (x->a == a && x->b == b)
			return x;
	}
	if (big_reserve(&c->v) || itab_put(&c->at, hash, c->v.n))
		return NULL;
	x = &c->v.v[c->v.n++];
	*x = (struct memory_cell){ .a = a, .b = b, .next = MEMORY_CELL_NONE };
	x->numbers = (uint8_t)(__builtin_popcount(memory_cell_latencies(x)) + memory_cell_open(x));
	return x;
}

/* Nothing is added from then on. */
int memory_cells_move(struct memory_cells *to, struct memory_cells *c)
{
	if (vec_reserve(&to->block, to->block.n + c->block.n))
		return -1;
	if (!to->v.n) {
		free(to->v.v);
		to->v.v = c->v.v;
		to->v.n = c->v.n;
		to->v.cap = c->v.cap;
	} else {
		if (vec_reserve(&to->v, to->v.n + c->v.n))
			return -1;
		if (c->v.n)
			memcpy(to->v.v + to->v.n, c->v.v, c->v.n * sizeof(*c->v.v));
		to->v.n += c->v.n;
		free(c->v.v);
	}
	for (size_t i = 0; i < c->block.n; i++)
		to->block.v[to->block.n++] = c->block.v[i];
	vec_free(&c->block);
	itab_free(&c->at);
	*c = (struct memory_cells){ .from = NULL };
	return 0;
}

void memory_cells_free(struct memory_cells *c)
{
	vec_each (&c->block, void **, p)
		free(*p);
	vec_free(&c->block);
	vec_free(&c->v);
	itab_free(&c->at);
}
