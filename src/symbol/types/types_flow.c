/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_flow - values of registers at each instruction of a function, and so the types of its
 * memory operands.
 *
 * Forward over basic blocks until nothing changes. Where paths meet, values that differ become
 * unknown; pointers into one array, a number of elements apart, are one with an unknown index.
 * Variables that DWARF has in a register fill unknown values, and replace known ones where their
 * range begins. A value that is unknown where it is made, but later copied to a variable or a field
 * with a type, has that type from the start in the next round. Tables of jumps lead to blocks as
 * branches do; blocks that only other indirect jumps or exceptions reach begin with the registers
 * of those jumps, or at calls.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "symbol/insn/decode.h"
#include "symbol/types/types_state.h"

static int effect_by_vaddr(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

size_t flow_insn_behind(const struct flow *w, uint64_t vaddr)
{
	size_t at;

	bisect(at, w->insn.n, i, w->insn.v[i].vaddr >= vaddr);
	return at;
}

size_t flow_insn_at(const struct flow *w, uint64_t vaddr)
{
	size_t i = flow_insn_behind(w, vaddr);

	return i < w->insn.n && w->insn.v[i].vaddr == vaddr ? i : SIZE_MAX;
}

static void flow_read_code(struct flow *w)
{
	for (size_t i = 0; i < w->f->n_ranges; i++) {
		const struct type_range *r = &w->t->own.v[w->f->first_range + i];
		uint64_t len = r->hi - r->lo;
		const uint8_t *p = disasm_code_at(w->t->code, r->lo, &len);

		for (uint64_t at = 0; p && at < len && w->insn.n <= TYPES_MAX_INSNS;) {
			struct effect *e = vec_xadd(&w->insn);

			effect_decode(w->t->decoder, p + at, (size_t)(len - at), r->lo + at, e);
			at += e->len;
		}
	}
	vec_sort(&w->insn, effect_by_vaddr);
}

/* Instruction i + 1 lies right behind i. */
static bool flow_follows(const struct flow *w, size_t i)
{
	return i + 1 < w->insn.n && w->insn.v[i + 1].vaddr == w->insn.v[i].vaddr + w->insn.v[i].len;
}

static void flow_forget_blocks(struct flow *w)
{
	for (size_t i = 0; i < w->block.n; i++) {
		free(w->block.v[i].in);
		w->block.v[i].in = NULL;
		w->block.v[i].visits = 0;
	}
	w->jumps.any = w->calls.any = w->learnt = w->tables_found = false;
}

/* A block begins at targets and behind jumps. */
static void flow_make_blocks(struct flow *w)
{
	uint8_t *leader = xcalloc(w->insn.n + 1, 1);

	flow_forget_blocks(w);
	w->block.n = 0;
	free(w->block_of);
	vec_each (&w->table, const struct flow_table *, x) {
		for (size_t k = 0; k < x->n; k++) {
			size_t to = flow_jump_to(w, x, k);

			if (to != SIZE_MAX)
				leader[to] = 1;
		}
	}
	w->block_of = xcalloc(w->insn.n + 1, sizeof(*w->block_of));
	for (size_t i = 0; i < w->insn.n; i++) {
		const struct effect *e = &w->insn.v[i];
		size_t to = e->has_target && e->flow != INSN_CALL ? flow_insn_at(w, e->target)
								  : SIZE_MAX;

		leader[i] |= !i || !flow_follows(w, i - 1);
		if (to != SIZE_MAX)
			leader[to] = 1;
		if (e->flow != INSN_OTHER && e->flow != INSN_CALL)
			leader[i + 1] = 1;
	}
	for (size_t i = 0; i < w->insn.n; i++) {
		if (leader[i])
			vec_xpush(&w->block, ((struct flow_block){ .first = i }));
		w->block_of[i] = (uint32_t)(w->block.n - 1);
		vec_last(&w->block)->end = i + 1;
	}
	free(leader);
}

/* ---- states of blocks ---------------------------------------------------------------------- */

#define STEPS_OF_MERGING 16u /* a state takes as long as so many instructions */

/* ---- blocks ---------------------------------------------------------------------------------- */

static void enter_block(struct flow *w, size_t block, const struct state *s)
{
	struct flow_block *b = &w->block.v[block];

	if (!b->in)
		b->in = xmemdup(s, sizeof(*s));
	else if (b->visits >= TYPES_MAX_VISITS || !state_merge(w, block, b->in, s))
		return;
	if (!b->queued)
		vec_xpush(&w->queue, (uint32_t)block);
	b->queued = true;
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

/* By a table; other targets begin with the registers of here. */
static void jump_by_table(struct flow *w, const struct state *s, size_t insn)
{
	const struct flow_table *x = flow_jump(w, s, insn);

	if (!x) {
		note_escape(w, &w->jumps, s, 0);
		return;
	}
	if (x->n * STEPS_OF_MERGING > w->steps) {
		w->f->why = TYPES_TOO_LARGE;
		return;
	}
	w->steps -= x->n * STEPS_OF_MERGING;
	for (size_t i = 0; i < x->n; i++) {
		size_t to = flow_jump_to(w, x, i);

		/* of a table that is new, blocks do not begin there yet */
		if (to != SIZE_MAX && w->block.v[w->block_of[to]].first == to)
			enter_block(w, w->block_of[to], s);
	}
}

static void run_block(struct flow *w, size_t block)
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
		return;
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
		return;
	to = e->has_target && e->flow != INSN_CALL ? flow_insn_at(w, e->target) : SIZE_MAX;
	if (e->flow == INSN_JUMP && !e->has_target)
		jump_by_table(w, &s, last);
	if (to != SIZE_MAX)
		enter_block(w, w->block_of[to], &s);
	if (e->flow != INSN_JUMP && e->flow != INSN_RETURN && e->flow != INSN_STOP &&
	    flow_follows(w, last))
		enter_block(w, w->block_of[last + 1], &s);
}

static void run_queue(struct flow *w)
{
	while (w->queue.n) {
		uint32_t block = w->queue.v[--w->queue.n];

		w->block.v[block].queued = false;
		run_block(w, block);
	}
}

/* Registers at the entry of the function. */
static void state_at_entry(struct flow *w, size_t block, struct state *s)
{
	uint32_t type = type_of_attr(w->t, &w->f->die);
	const struct effect_machine *m = w->t->machine;

	state_init(s);
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		s->reg[r] = flow_origin_of_block(w, block, r);
	if (type_in_memory(w->t, type))
		s->reg[m->memory_result] = (struct value){ .kind = VALUE_POINTER, .type = type };
	s->reg[m->sp] = (struct value){ .kind = VALUE_FRAME, .off = m->entry };
}

/* Behind a jump, up to the next block: nothing gets there, and so nothing goes on from there. */
static bool is_nop_block(const struct flow *w, const struct flow_block *b)
{
	for (size_t i = b->first; i < b->end; i++)
		if (w->insn.v[i].op != EFFECT_NOP)
			return false;
	return true;
}

static void run_blocks(struct flow *w)
{
	struct state s;

	for (size_t i = 0; i < w->block.n; i++) {
		if (w->insn.v[w->block.v[i].first].vaddr != w->entry)
			continue;
		state_at_entry(w, i, &s);
		enter_block(w, i, &s);
	}
	run_queue(w);
	state_init(&s);
	for (size_t i = 0; i < w->block.n; i++) {
		if (w->block.v[i].in || is_nop_block(w, &w->block.v[i]))
			continue;
		enter_block(w, i,
			    w->jumps.any   ? &w->jumps.state
			    : w->calls.any ? &w->calls.state
					   : &s);
		run_queue(w);
	}
}

static bool jumps_by_register(const struct flow *w)
{
	for (size_t i = 0; i < w->insn.n; i++)
		if (w->insn.v[i].flow == INSN_JUMP && !w->insn.v[i].has_target)
			return true;
	return false;
}

static void new_origins(struct flow *w)
{
	w->f->why = TYPES_KNOWN;
	w->steps = TYPES_MAX_STEPS;
	w->choice.n = 0;
	w->n_origins = w->insn.n + (w->block.n + 2) * EFFECT_REGS;
	free(w->origin);
	w->origin = xcalloc(w->n_origins, sizeof(*w->origin));
}

/* Takes a union's pointer if it is the only one that fits all accesses. */
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
static void find_flow_blocks(struct flow *w)
{
	bool more = true;

	flow_make_blocks(w);
	for (unsigned i = 0;
	     more && i < TYPES_MAX_ROUNDS && jumps_by_register(w) && w->block.n <= TYPES_MAX_BLOCKS;
	     i++) {
		new_origins(w);
		run_blocks(w);
		more = w->tables_found;
		if (more)
			flow_make_blocks(w);
	}
	new_origins(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer_block(struct flow *w, const struct flow_block *b)
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
			vec_xpush(&w->f->answer, a);
		}
		flow_step(w, &s, i);
	}
}

static void run_function(struct flow *w)
{
	struct types *t = w->t;
	Dwarf_Die die = w->f->die;
	Dwarf_Addr pc;

	w->entry = dwarf_entrypc(&die, &pc) ? t->own.v[w->f->first_range].lo : pc;
	flow_read_code(w);
	if (!w->insn.n || w->insn.n > TYPES_MAX_INSNS) {
		w->f->why = w->insn.n ? TYPES_TOO_LARGE : TYPES_NO_IMAGE;
		return;
	}
	type_facts_read(t, w->f, &w->facts, &w->call);
	find_flow_blocks(w);
	if (w->block.n > TYPES_MAX_BLOCKS) {
		w->f->why = TYPES_TOO_LARGE;
		return;
	}
	for (unsigned i = 0; !i || (w->learnt && i < TYPES_MAX_ROUNDS); i++) {
		w->learnt = false;
		flow_forget_blocks(w);
		run_blocks(w);
		learn_choices(w);
	}
	for (size_t i = 0; i < w->block.n && w->f->why == TYPES_KNOWN; i++)
		if (w->block.v[i].in)
			answer_block(w, &w->block.v[i]);
}

void type_flow(struct types *t, struct type_function *f)
{
	struct flow *w = xcalloc(1, sizeof(*w));

	w->t = t;
	w->f = f;
	run_function(w);
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
}
