/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate/sums.h"

#include <stdlib.h>

#define INSN_BITS  10 /* of a key: STREAM_INSNS_MOST and the causes */
#define CAUSE_BITS 6

void sums_open(struct sums *s)
{
	*s = (struct sums){ 0 };
	s->failed = vec_push(&s->context, ((struct sums_context){ 0 })) != 0;
}

void sums_close(struct sums *s)
{
	vec_each (&s->code, struct sums_code *, c)
		free(c->insn);
	vec_each (&s->block, struct sums_block **, b) {
		free((*b)->slots);
		free(*b);
	}
	vec_free(&s->context);
	vec_free(&s->code);
	vec_free(&s->block);
	u64map_free(&s->children);
	u64map_free(&s->blocks);
	u64map_free(&s->parts);
}

/* The context itself or one above it that is the same call; UINT32_MAX: there is none. */
static uint32_t find_recursion(const struct sums *s, uint32_t context, uint64_t callee,
			       uint64_t behind)
{
	for (uint32_t c = context; c; c = s->context.v[c].parent)
		if (s->context.v[c].callee == callee && s->context.v[c].behind == behind)
			return c;
	return UINT32_MAX;
}

uint32_t sums_call(struct sums *s, uint32_t context, uint64_t callee, uint64_t behind)
{
	uint64_t key = hash_pair(hash_pair(callee, behind), context), *at;
	uint32_t found;
	bool fresh;

	at = u64map_at(&s->children, key, &fresh);
	if (!at) {
		s->failed = true;
		return context;
	}
	if (!fresh)
		return (uint32_t)*at;
	found = find_recursion(s, context, callee, behind);
	if (found == UINT32_MAX && s->context.n >= CONTEXTS_MOST) {
		s->full = true;
		found = context;
	}
	if (found == UINT32_MAX) {
		found = (uint32_t)s->context.n;
		if (vec_push(&s->context, ((struct sums_context){ context, callee, behind }))) {
			s->failed = true;
			found = context;
		}
	}
	*at = found;
	return found;
}

struct sums_block *sums_enter(struct sums *s, uint32_t context, uint32_t code)
{
	uint64_t key = (uint64_t)context << 32 | code, *at;
	struct sums_block *b;
	bool fresh;

	at = u64map_at(&s->blocks, key, &fresh);
	if (at && !fresh) {
		b = s->block.v[*at];
		b->runs++;
		return b;
	}
	b = at ? calloc(1, sizeof(*b)) : NULL;
	if (!b || vec_push(&s->block, b)) {
		free(b);
		s->failed = true;
		return NULL;
	}
	b->context = context;
	b->code = code;
	b->runs = 1;
	b->slots = calloc(s->code.v[code].n ? s->code.v[code].n : 1, sizeof(*b->slots));
	if (!b->slots)
		s->failed = true;
	*at = s->block.n - 1;
	return b;
}

static uint64_t part_key(uint64_t block, uint32_t insn, unsigned cause)
{
	return (block << INSN_BITS | insn) << CAUSE_BITS | cause;
}

void sums_charge(void *sums, struct sim_place place, enum sim_cause cause, uint64_t slots)
{
	struct sums *s = sums;
	struct sums_block *b = place.block;
	uint64_t *at;

	s->cause[cause] += slots;
	if (!b || !b->slots)
		return;
	b->slots[place.insn] += slots;
	if (cause == SIM_TOP_RETIRING)
		return;
	/* blocks are few and never move: the address is a name as good as the number */
	at = u64map_at(&s->parts, part_key((uint64_t)(uintptr_t)b >> 4, place.insn, cause), NULL);
	if (at)
		*at += slots;
	else
		s->failed = true;
}

uint64_t sums_part_of(const struct sums *s, uint32_t block, uint32_t insn, enum sim_cause cause)
{
	const struct sums_block *b = s->block.v[block];
	const uint64_t *at;
	uint64_t rest;

	if (cause == SIM_TOP_RETIRING) {
		rest = b->slots[insn];
		for (unsigned c = 0; c < SIM_CAUSES; c++)
			if (c != SIM_TOP_RETIRING)
				rest -= sums_part_of(s, block, insn, (enum sim_cause)c);
		return rest;
	}
	at = u64map_find(&s->parts, part_key((uint64_t)(uintptr_t)b >> 4, insn, cause));
	return at ? *at : 0;
}
