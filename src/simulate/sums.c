/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate/sums.h"

#include "base/xalloc.h"

#define INSN_BITS  10 /* of a key: STREAM_INSNS_MOST and the causes */
#define CAUSE_BITS 6

void sums_open(struct sums *s)
{
	*s = (struct sums){ 0 };
	vec_xpush(&s->context, ((struct sums_context){ 0 }));
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

	at = u64map_xat(&s->children, key, &fresh);
	if (!fresh)
		return (uint32_t)*at;
	found = find_recursion(s, context, callee, behind);
	if (found == UINT32_MAX && s->context.n >= CONTEXTS_MOST) {
		s->full = true;
		found = context;
	}
	if (found == UINT32_MAX) {
		found = (uint32_t)s->context.n;
		vec_xpush(&s->context, ((struct sums_context){ context, callee, behind }));
	}
	*at = found;
	return found;
}

struct sums_block *sums_enter(struct sums *s, uint32_t context, uint32_t code)
{
	uint64_t key = (uint64_t)context << 32 | code, *at;
	struct sums_block *b;
	bool fresh;

	at = u64map_xat(&s->blocks, key, &fresh);
	if (!fresh) {
		b = s->block.v[*at];
		b->runs++;
		return b;
	}
	b = xcalloc(1, sizeof(*b));
	*b = (struct sums_block){ .context = context, .code = code, .runs = 1 };
	b->slots = xcalloc(2 * (size_t)s->code.v[code].n, sizeof(*b->slots));
	b->kept = b->slots + s->code.v[code].n;
	*at = s->block.n;
	vec_xpush(&s->block, b);
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

	s->cause[cause] += slots;
	if (!b)
		return;
	b->slots[place.insn] += slots;
	if (cause == SIM_TOP_RETIRING)
		return;
	b->kept[place.insn] += slots;
	/* a block never moves: its address is a name as good as its number */
	*u64map_xat(&s->parts, part_key((uint64_t)(uintptr_t)b >> 4, place.insn, cause), NULL) +=
		slots;
}

uint64_t sums_part_of(const struct sums *s, uint32_t block, uint32_t insn, enum sim_cause cause)
{
	const struct sums_block *b = s->block.v[block];
	const uint64_t *at =
		u64map_find(&s->parts, part_key((uint64_t)(uintptr_t)b >> 4, insn, cause));

	return at ? *at : 0;
}
