/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples kept with their chains, by the worker that meets them: one by one, merged, or as cells.
 *
 * Cells of a recording may be as many as its samples, and then looking each up in a large table
 * would take more time than all the rest. So a cell waits in a small table, which the processor's
 * cache holds, until another one needs its slot. In repetitive code nearly all are merged;
 * elsewhere they are written down one after the other.
 */
#include "analyse/profile/profile_int.h"

#include "base/big.h"

int stack_keep(struct stack_keep *k, struct walk_chain *c, uint32_t party, uint64_t time,
	       uint32_t cpu, uint64_t period)
{
	uint64_t h = hash_pair((uint64_t)(uintptr_t)c ^ hash_u64(time), party);
	uint32_t idx;

	for (size_t i = itab_first(&k->at, h); k->merge && itab_at(&k->at, &i, h, &idx);) {
		struct stack_kept *o = &k->v.v[idx];

		if (o->chain == c && o->party == party && o->time == time && o->n < UINT32_MAX) {
			o->n++;
			o->period += period;
			return 0;
		}
	}
	if (k->v.n >= ITAB_NONE - 1 || vec_reserve(&k->v, k->v.n + 1) ||
	    (k->merge && itab_put(&k->at, h, k->v.n)))
		return -1;
	k->v.v[k->v.n++] = (struct stack_kept){ time, period, c, party, 1, cpu };
	return 0;
}

int stack_cells_init(struct stack_cells *k, size_t slots)
{
	k->shift = 64 - (unsigned)__builtin_ctzll(slots);
	k->wait = big_zeros(slots, sizeof(*k->wait));
	return k->wait ? 0 : -1;
}

void stack_cells_free(struct stack_cells *k)
{
	vec_free(&k->v);
	vec_free(&k->place);
	itab_free(&k->place_at);
	free(k->wait);
	k->wait = NULL;
}

static uint32_t find_place(struct stack_cells *k, uint32_t party, uint32_t cpu)
{
	uint64_t h = hash_u64((uint64_t)party << 32 | cpu);
	uint32_t idx;

	for (size_t i = itab_first(&k->place_at, h); itab_at(&k->place_at, &i, h, &idx);)
		if (k->place.v[idx].thread == party && k->place.v[idx].cpu == cpu)
			return idx;
	if (k->place.n >= ITAB_NONE - 1 ||
	    vec_push(&k->place, ((struct stack_place){ party, cpu })) ||
	    itab_put(&k->place_at, h, k->place.n - 1))
		return ITAB_NONE;
	return (uint32_t)k->place.n - 1;
}

uint32_t stack_cells_place(struct stack_cells *k, uint32_t party, uint32_t cpu)
{
	struct stack_place_seen *o =
		&k->seen[(party * 31 + cpu) % (sizeof(k->seen) / sizeof(*k->seen))];
	uint32_t at;

	if (o->at && o->party == party && o->cpu == cpu)
		return o->at - 1;
	at = find_place(k, party, cpu);
	if (at != ITAB_NONE)
		*o = (struct stack_place_seen){ party, cpu, at + 1 };
	return at;
}

int stack_cell_add(struct stack_cells *k, uint32_t callers, uint32_t leaf, uint32_t place,
		   uint16_t bin, uint64_t period)
{
	uint64_t h = ((uint64_t)place << 32 | leaf) * 0x9e3779b97f4a7c15ULL ^ callers;
	struct stack_cell *o = &k->wait[h * 0xff51afd7ed558ccdULL >> k->shift];

	if (o->n && o->n < UINT16_MAX && o->bin == bin && o->leaf == leaf && o->place == place &&
	    o->callers == callers) {
		o->n++;
		o->period += period;
		return 0;
	}
	if (o->n && vec_push(&k->v, *o))
		return -1;
	*o = (struct stack_cell){ callers, leaf, place, bin, 1, period };
	return 0;
}

int stack_cells_settle(struct stack_cells *k)
{
	for (size_t i = 0; k->wait && i < (size_t)1 << (64 - k->shift); i++)
		if (k->wait[i].n && vec_push(&k->v, k->wait[i]))
			return -1;
	free(k->wait);
	k->wait = NULL;
	return 0;
}
