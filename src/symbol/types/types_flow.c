/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_flow - what registers hold at each instruction of a function, and so what its memory
 * operands are.
 *
 * Forward over basic blocks until nothing changes. Where paths meet, what differs is not known;
 * pointers into one array, a number of elements apart, are one with an unknown index. Variables
 * that DWARF has in a register fill what is not known, and replace what is known where their range
 * begins. What is not known where it is made, but is later copied to a variable or a field with a
 * type, has that type from the start in the next round. Tables of jumps lead to blocks as branches
 * do; blocks that only other indirect jumps or exceptions reach begin with what registers hold at
 * those jumps, or at calls.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/insn/decode.h"
#include "symbol/types/types_state.h"

#define STEPS_OF_MERGING 16u /* a state takes as long as so many instructions */

/* ---- blocks ---------------------------------------------------------------------------------- */

static int enter(struct flow *w, size_t block, const struct state *s)
{
	struct flow_block *b = &w->block.v[block];

	if (!b->in) {
		b->in = malloc(sizeof(*b->in));
		if (!b->in)
			return -1;
		*b->in = *s;
	} else if (b->visits >= TYPES_MAX_VISITS || !state_merge(w, block, b->in, s)) {
		return 0;
	}
	if (!b->queued) {
		b->queued = true;
		return vec_push(&w->queue, (uint32_t)block);
	}
	return 0;
}

static void note_escape(struct flow *w, struct flow_escape *x, const struct state *s,
			uint32_t clobbers)
{
	struct state kept = *s;

	for (unsigned r = 0; r < EFFECT_REGS; r++)
		if (clobbers >> r & 1)
			kept.reg[r] = value_unknown;
	if (!x->any)
		x->state = kept;
	else
		(void)state_merge(w, w->block.n + (x == &w->calls), &x->state, &kept);
	x->any = true;
}

/* By a table; what else it may lead to begins with what registers hold here. */
static int jump(struct flow *w, const struct state *s, size_t insn)
{
	const struct flow_table *x;

	if (flow_jump(w, s, insn, &x))
		return -1;
	if (!x)
		note_escape(w, &w->jumps, s, 0);
	if (x && x->n * STEPS_OF_MERGING > w->steps) {
		w->f->why = TYPES_TOO_LARGE;
		return 0;
	}
	w->steps -= x ? x->n * STEPS_OF_MERGING : 0;
	for (size_t i = 0; x && i < x->n; i++) {
		size_t to = flow_jump_to(w, x, i);

		/* of a table that is new, blocks do not begin there yet */
		if (to != SIZE_MAX && w->block.v[w->block_of[to]].first == to &&
		    enter(w, w->block_of[to], s))
			return -1;
	}
	return 0;
}

static bool goes_on(uint8_t flow)
{
	return flow != INSN_JUMP && flow != INSN_RETURN && flow != INSN_STOP;
}

static int run_block(struct flow *w, size_t block)
{
	struct flow_block *b = &w->block.v[block];
	struct state s = *b->in;
	const struct effect *e = NULL;
	size_t last = b->end - 1, to;
	uint64_t cost;

	b->visits++;
	flow_facts_begin(w, w->insn.v[b->first].vaddr);
	cost = w->facts.n + (b->end - b->first) * (1 + (uint64_t)w->n_active);
	if (cost > w->steps) {
		w->f->why = TYPES_TOO_LARGE;
		return 0;
	}
	w->steps -= cost;
	for (size_t i = b->first; i < b->end; i++) {
		e = &w->insn.v[i];
		flow_facts_at(w, &s, e->vaddr, i == b->first);
		if (e->flow == INSN_CALL)
			note_escape(w, &w->calls, &s, w->t->machine->clobbers);
		flow_step(w, &s, i);
	}
	if (!e)
		return 0;
	to = e->has_target && e->flow != INSN_CALL ? flow_insn_at(w, e->target) : SIZE_MAX;
	if (e->flow == INSN_JUMP && !e->has_target && jump(w, &s, last))
		return -1;
	if (to != SIZE_MAX && enter(w, w->block_of[to], &s))
		return -1;
	return goes_on(e->flow) && flow_follows(w, last) ? enter(w, w->block_of[last + 1], &s) : 0;
}

static int run_queue(struct flow *w)
{
	while (w->queue.n) {
		uint32_t block = w->queue.v[--w->queue.n];

		w->block.v[block].queued = false;
		if (run_block(w, block))
			return -1;
	}
	return 0;
}

/* What registers hold where the function is entered. */
static void state_at_entry(struct flow *w, size_t block, struct state *s)
{
	uint32_t type = type_of_attr(w->t, &w->f->die);
	const struct effect_machine *m = w->t->machine;

	state_init(s);
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		s->reg[r] = flow_origin_of_block(w, block, r);
	if (type != TYPE_NONE && type_in_memory(w->t, type))
		s->reg[m->memory_result] = (struct value){ .kind = VALUE_POINTER, .type = type };
	s->reg[m->sp] = (struct value){ .kind = VALUE_FRAME, .off = m->entry };
}

/* Behind a jump, up to the next block: nothing gets there, and so nothing goes on from there. */
static bool is_padding(const struct flow *w, const struct flow_block *b)
{
	for (size_t i = b->first; i < b->end; i++)
		if (w->insn.v[i].op != EFFECT_NOP)
			return false;
	return true;
}

static int run(struct flow *w)
{
	struct state s;

	for (size_t i = 0; i < w->block.n; i++) {
		if (w->insn.v[w->block.v[i].first].vaddr != w->entry)
			continue;
		state_at_entry(w, i, &s);
		if (enter(w, i, &s))
			return -1;
	}
	if (run_queue(w))
		return -1;
	state_init(&s);
	for (size_t i = 0; i < w->block.n; i++) {
		if (w->block.v[i].in || is_padding(w, &w->block.v[i]))
			continue;
		if (enter(w, i,
			  w->jumps.any	 ? &w->jumps.state
			  : w->calls.any ? &w->calls.state
					 : &s) ||
		    run_queue(w))
			return -1;
	}
	return 0;
}

static bool jumps_by_register(const struct flow *w)
{
	for (size_t i = 0; i < w->insn.n; i++)
		if (w->insn.v[i].flow == INSN_JUMP && !w->insn.v[i].has_target)
			return true;
	return false;
}

static int new_origins(struct flow *w)
{
	w->f->why = TYPES_KNOWN;
	w->steps = TYPES_MAX_STEPS;
	w->choice.n = 0;
	w->n_origins = w->insn.n + (w->block.n + 2) * EFFECT_REGS;
	free(w->origin);
	w->origin = calloc(w->n_origins, sizeof(*w->origin));
	return w->origin ? 0 : -1;
}

/* Of several pointers of a union one is left that all accesses fit. */
static void learn_choices(struct flow *w)
{
	for (size_t i = 0; i < w->insn.n; i++) {
		struct value *o = &w->origin[i];
		const struct type_choice *c;

		if (o->kind == VALUE_POINTER || !o->type)
			continue;
		c = &w->choice.v[o->type - 1];
		if (c->n != 1 || !c->used)
			continue;
		*o = (struct value){ .kind = VALUE_POINTER, .type = c->type[0] };
		w->learnt = true;
	}
}

/* Blocks, which begin where tables of jumps lead as well. */
static int find_blocks(struct flow *w)
{
	bool more = true;

	if (flow_make_blocks(w))
		return -1;
	for (unsigned i = 0;
	     more && i < TYPES_MAX_ROUNDS && jumps_by_register(w) && w->block.n <= TYPES_MAX_BLOCKS;
	     i++) {
		if (new_origins(w) || run(w))
			return -1;
		more = w->tables_found;
		if (more && flow_make_blocks(w))
			return -1;
	}
	return new_origins(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int answer_block(struct flow *w, const struct flow_block *b)
{
	struct state s = *b->in;

	flow_facts_begin(w, w->insn.v[b->first].vaddr);
	for (size_t i = b->first; i < b->end; i++) {
		const struct effect *e = &w->insn.v[i];

		flow_facts_at(w, &s, e->vaddr, i == b->first);
		for (unsigned m = 0; m < e->n_mem; m++) {
			struct type_answer a = { .vaddr = e->vaddr,
						 .mem = (uint8_t)m,
						 .store = e->mem[m].store };

			a.why = (uint8_t)flow_access(w, &s, &e->mem[m], &a.hit, &a.stack);
			if (vec_push(&w->f->answer, a))
				return -1;
		}
		flow_step(w, &s, i);
	}
	return 0;
}

static uint64_t entry_of(struct types *t, const struct type_function *f)
{
	Dwarf_Die die = f->die;
	Dwarf_Addr pc;

	return dwarf_entrypc(&die, &pc) ? t->own.v[f->first_range].lo : pc;
}

static int flow(struct flow *w)
{
	struct types *t = w->t;

	w->entry = entry_of(t, w->f);
	if (flow_read_code(w))
		return -1;
	if (!w->insn.n || w->insn.n > TYPES_MAX_INSNS) {
		w->f->why = w->insn.n ? TYPES_TOO_LARGE : TYPES_NO_IMAGE;
		return 0;
	}
	if (type_facts_read(t, w->f, &w->facts, &w->call) || find_blocks(w))
		return -1;
	if (w->block.n > TYPES_MAX_BLOCKS) {
		w->f->why = TYPES_TOO_LARGE;
		return 0;
	}
	for (unsigned i = 0; !i || (w->learnt && i < TYPES_MAX_ROUNDS); i++) {
		w->learnt = false;
		flow_forget_blocks(w);
		if (run(w))
			return -1;
		learn_choices(w);
	}
	for (size_t i = 0; i < w->block.n && w->f->why == TYPES_KNOWN; i++)
		if (w->block.v[i].in && answer_block(w, &w->block.v[i]))
			return -1;
	return t->nomem ? -1 : 0;
}

int type_flow(struct types *t, struct type_function *f)
{
	struct flow *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -1;
	w->t = t;
	w->f = f;
	rc = flow(w);
	for (size_t i = 0; i < w->block.n; i++)
		free(w->block.v[i].in);
	vec_free(&w->insn);
	vec_free(&w->block);
	vec_free(&w->queue);
	vec_free(&w->facts);
	vec_free(&w->call);
	vec_free(&w->table);
	vec_free(&w->choice);
	free(w->block_of);
	free(w->origin);
	free(w);
	return rc;
}
