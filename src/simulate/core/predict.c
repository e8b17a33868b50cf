/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directions: a table of counters by address and tables of tagged counters by longer and longer
 * parts of the history, of which the longest that knows the branch decides (TAGE: A. Seznec and P.
 * Michaud, JILP 2006). Indirect targets: the same with targets in place of counters, two tables.
 * Direct targets: a table of two sizes. Returns: a stack.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "simulate/core/core_int.h"
#include "symbol/disasm.h"

#define TABLES	    7u
#define TABLE_BITS  12u
#define TAG_BITS    11u
#define BASE_BITS   14u
#define HISTORY	    1024u /* bits that are kept */
#define TARGET_BITS 12u

static const uint16_t lengths[TABLES] = { 4, 8, 17, 35, 74, 157, 330 };

struct folded { /* the last `length` bits of the history, xored to `width` bits */
	uint32_t value;
	uint16_t length, width, out;
};

struct tagged {
	uint16_t tag;
	int8_t counter; /* -4 to 3: taken from 0 on */
	uint8_t useful;
};

struct target {
	uint64_t to;
	uint32_t tag;
	uint8_t sure;
};

struct predictor {
	int8_t base[1u << BASE_BITS];
	struct tagged table[TABLES][1u << TABLE_BITS];
	struct folded index[TABLES], tag[TABLES], tag2[TABLES];
	uint8_t history[HISTORY];
	uint32_t at; /* of the newest bit */
	uint32_t tick;
	uint64_t random, path;
	struct target indirect[2][1u << TARGET_BITS], last_target[1u << TARGET_BITS];
	struct cache btb, btb_first;
	uint64_t *returns;
	uint32_t n_returns, top, depth;
};

struct predictor *predictor_new(const struct core *c)
{
	struct predictor *p = xcalloc(1, sizeof(*p));

	for (unsigned i = 0; i < TABLES; i++) {
		p->index[i] = (struct folded){ 0, lengths[i], TABLE_BITS, lengths[i] % TABLE_BITS };
		p->tag[i] = (struct folded){ 0, lengths[i], TAG_BITS, lengths[i] % TAG_BITS };
		p->tag2[i] =
			(struct folded){ 0, lengths[i], TAG_BITS - 1, lengths[i] % (TAG_BITS - 1) };
	}
	p->random = 1;
	p->n_returns = c->part[CORE_RETURNS];
	p->returns = xcalloc(p->n_returns, sizeof(*p->returns));
	core_cache_open(&p->btb, c->part[CORE_BTB], 8);
	core_cache_open(&p->btb_first, c->part[CORE_BTB_FIRST], 4);
	return p;
}

void predictor_free(struct predictor *p)
{
	core_cache_close(&p->btb);
	core_cache_close(&p->btb_first);
	free(p->returns);
	free(p);
}

/* ---- directions ------------------------------------------------------------------------------ */

static inline void fold(struct folded *f, uint32_t in, uint32_t out)
{
	f->value = f->value << 1 | in;
	f->value ^= out << f->out;
	f->value ^= f->value >> f->width;
	f->value &= (1u << f->width) - 1;
}

static void add_history(struct predictor *p, bool taken)
{
	p->at = (p->at - 1) & (HISTORY - 1);
	p->history[p->at] = taken;
	for (unsigned i = 0; i < TABLES; i++) {
		uint32_t out = p->history[(p->at + lengths[i]) & (HISTORY - 1)];

		fold(&p->index[i], taken, out);
		fold(&p->tag[i], taken, out);
		fold(&p->tag2[i], taken, out);
	}
}

static inline uint32_t index_of(const struct predictor *p, unsigned i, uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> (TABLE_BITS - i) ^ p->index[i].value ^ p->path * (i > 2) * 3) &
	       ((1u << TABLE_BITS) - 1);
}

static inline uint16_t tag_of(const struct predictor *p, unsigned i, uint64_t pc)
{
	return (uint16_t)((pc ^ pc >> 13 ^ p->tag[i].value ^ p->tag2[i].value << 1) &
			  ((1u << TAG_BITS) - 1));
}

static inline void count_counter(int8_t *c, bool up, int8_t least, int8_t most)
{
	if (up ? *c < most : *c > least)
		*c = (int8_t)(*c + (up ? 1 : -1));
}

/* A longer history gets an entry for a branch that a shorter one got wrong. */
static void allocate(struct predictor *p, unsigned from, const uint32_t *index, const uint16_t *tag,
		     bool taken)
{
	unsigned first = from;

	p->random = p->random * UINT64_C(6364136223846793005) + 1;
	if (first + 1 < TABLES && p->random >> 62 == 0)
		first++;
	for (unsigned i = first; i < TABLES; i++) {
		struct tagged *t = &p->table[i][index[i]];

		if (t->useful)
			continue;
		*t = (struct tagged){ .tag = tag[i], .counter = taken ? 0 : -1 };
		return;
	}
	for (unsigned i = from; i < TABLES; i++)
		p->table[i][index[i]].useful--;
}

static bool see_direction(struct predictor *p, uint64_t pc, bool taken)
{
	uint32_t index[TABLES], base = (uint32_t)(pc ^ pc >> BASE_BITS) & ((1u << BASE_BITS) - 1);
	uint16_t tag[TABLES];
	int best = -1, second = -1;
	bool said, other;

	for (int i = TABLES - 1; i >= 0; i--) {
		index[i] = index_of(p, (unsigned)i, pc);
		tag[i] = tag_of(p, (unsigned)i, pc);
	}
	for (int i = TABLES - 1; i >= 0 && second < 0; i--) {
		if (p->table[i][index[i]].tag != tag[i] || !tag[i])
			continue;
		*(best < 0 ? &best : &second) = i;
	}
	other = second >= 0 ? p->table[second][index[second]].counter >= 0 : p->base[base] >= 0;
	said = best >= 0 ? p->table[best][index[best]].counter >= 0 : other;
	if (best >= 0) {
		struct tagged *t = &p->table[best][index[best]];
		bool fresh = !t->useful && (t->counter == 0 || t->counter == -1);

		if (fresh) /* it has not shown anything yet */
			said = other;
		if ((t->counter >= 0) != other && (t->counter >= 0) == taken && t->useful < 3)
			t->useful++;
		if (t->useful == 0)
			count_counter(second >= 0 ? &p->table[second][index[second]].counter
						  : &p->base[base],
				      taken, second >= 0 ? -4 : -2, second >= 0 ? 3 : 1);
		count_counter(&t->counter, taken, -4, 3);
	} else {
		count_counter(&p->base[base], taken, -2, 1);
	}
	if (said != taken && best < (int)TABLES - 1)
		allocate(p, (unsigned)(best + 1), index, tag, taken);
	add_history(p, taken);
	p->path = (p->path << 1 ^ (pc & 0xff)) & 0xffff;
	return said == taken;
}

/* ---- targets --------------------------------------------------------------------------------- */

static bool see_indirect(struct predictor *p, uint64_t pc, uint64_t to)
{
	const uint32_t mask = (1u << TARGET_BITS) - 1;
	uint64_t key[2] = { hash_pair(pc, p->index[2].value | (uint64_t)p->tag[2].value << 16 |
						  (p->path & 0xff) << 40),
			    hash_pair(pc, p->index[4].value | (uint64_t)p->tag[4].value << 16 |
						  p->path << 40) };
	struct target *last = &p->last_target[hash_u64(pc) & mask];
	uint64_t said = last->to;
	int by = -1;

	for (int i = 1; i >= 0 && by < 0; i--) {
		struct target *t = &p->indirect[i][key[i] & mask];

		if (t->tag == (uint32_t)(key[i] >> 32)) {
			said = t->to;
			by = i;
		}
	}
	for (int i = 0; i < 2; i++) {
		struct target *t = &p->indirect[i][key[i] & mask];

		if (t->tag == (uint32_t)(key[i] >> 32)) {
			if (t->to == to)
				t->sure = t->sure < 3 ? t->sure + 1 : 3;
			else if (t->sure)
				t->sure--;
			else
				t->to = to;
		} else if (said != to && i > by) {
			if (t->sure)
				t->sure--;
			else
				*t = (struct target){ to, (uint32_t)(key[i] >> 32), 0 };
		}
	}
	last->to = to;
	/* where it went is history for the branches behind it */
	for (int i = 0; i < 3; i++)
		add_history(p, hash_u64(to) >> i & 1);
	p->path = (p->path << 2 ^ (to >> 2 & 0xff)) & 0xffff;
	return said == to;
}

static enum branch_outcome see_target(struct predictor *p, uint64_t pc)
{
	struct cache_line *l = core_cache_find(&p->btb_first, pc);

	if (l)
		return BRANCH_RIGHT;
	core_cache_fill(&p->btb_first, pc, 0, 0);
	if (core_cache_find(&p->btb, pc))
		return BRANCH_LATE;
	core_cache_fill(&p->btb, pc, 0, 0);
	return BRANCH_RESTEER;
}

static void push_return(struct predictor *p, uint64_t behind)
{
	p->top = (p->top + 1) % p->n_returns;
	p->returns[p->top] = behind;
	p->depth += p->depth < p->n_returns;
}

static bool pop_return(struct predictor *p, uint64_t to)
{
	bool right = p->depth && p->returns[p->top] == to;

	if (p->depth) {
		p->depth--;
		p->top = (p->top + p->n_returns - 1) % p->n_returns;
	}
	return right;
}

enum branch_outcome predictor_see(struct predictor *p, uint8_t flow, bool direct, uint64_t from,
				  uint64_t behind, uint64_t to)
{
	switch (flow) {
	case INSN_COND:
		if (!see_direction(p, from, to != behind))
			return BRANCH_WRONG;
		return to == behind ? BRANCH_RIGHT : see_target(p, from);
	case INSN_CALL:
		push_return(p, behind);
		/* fallthrough */
	case INSN_JUMP:
		if (!direct)
			return see_indirect(p, from, to) ? see_target(p, from) : BRANCH_WRONG;
		return see_target(p, from);
	case INSN_RETURN:
		return pop_return(p, to) ? see_target(p, from) : BRANCH_WRONG;
	default:
		return BRANCH_RIGHT;
	}
}
