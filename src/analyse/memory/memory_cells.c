/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_cells_int.h"

#include <assert.h>
#include <stdlib.h>

#include "base/big.h"

#define BLOCK_LEAST ((size_t)32 << 10)

_Static_assert(MEMORY_CELL_ROWS == 4u << MEMORY_CELL_SIZES, "the largest room");

/* In large pages if there are many: clearing memory in small pages costs more than the writes to
 * it. */
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

/* ---- cells by hash --------------------------------------------------------------------------- */

#define SLOTS_LEAST ((size_t)128)

int memory_cells_widen(struct memory_cells *c, size_t more)
{
	struct memory_cells to = { .n_slots = SLOTS_LEAST };

	while ((c->n + more) * 3 > to.n_slots * 2)
		to.n_slots *= 2;
	to.slot = big_zeros(to.n_slots, sizeof(*to.slot));
	if (!to.slot)
		return -1;
	for (size_t i = 0; i < c->n_slots; i++) {
		const struct memory_cell *x = &c->slot[i];

		if (x->b)
			*memory_cell_of(&to, x->a, x->b, memory_cell_hash(x->a, x->b)) = *x;
	}
	assert(to.n == c->n);
	free(c->slot);
	c->slot = to.slot;
	c->n_slots = to.n_slots;
	return 0;
}

void memory_cell_begin(struct memory_cells *c, struct memory_cell *x, uint64_t a, uint64_t b)
{
	*x = (struct memory_cell){ .a = a, .b = b, .next = MEMORY_CELL_NONE };
	x->numbers = (uint8_t)(__builtin_popcount(memory_cell_latencies(x)) + memory_cell_open(x));
	c->n++;
	assert(b && c->n < c->n_slots);
}

int memory_cells_move(struct memory_cells *to, struct memory_cells *c)
{
	if (to->v.n + c->n >= MEMORY_CELL_NONE ||
	    vec_reserve(&to->block, to->block.n + c->block.n) ||
	    big_reserve_all(&to->v, to->v.n + c->n))
		return -1;
	for (size_t i = 0; i < c->n_slots; i++)
		if (c->slot[i].b)
			to->v.v[to->v.n++] = c->slot[i];
	for (size_t i = 0; i < c->block.n; i++)
		to->block.v[to->block.n++] = c->block.v[i];
	vec_free(&c->block);
	free(c->slot);
	*c = (struct memory_cells){ .from = NULL };
	return 0;
}

void memory_cells_free(struct memory_cells *c)
{
	vec_each (&c->block, void **, p)
		free(*p);
	vec_free(&c->block);
	vec_free(&c->v);
	free(c->slot);
	c->slot = NULL;
	c->n_slots = c->n = 0;
}
