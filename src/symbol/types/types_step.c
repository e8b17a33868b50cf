/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_step - the effect of an instruction on registers and spilled values.
 */
#include "symbol/disasm.h"
#include "base/xalloc.h"
#include "symbol/types/types_state.h"

static const struct value null = { .kind = VALUE_NULL };

static const struct value *in_register(const struct state *s, uint8_t r)
{
	return r == EFFECT_NONE ? &value_unknown : r == EFFECT_ZERO ? &null : &s->reg[r];
}

/* One of the two that a pair is of. */
static struct effect_mem half(const struct effect *e, unsigned which)
{
	struct effect_mem m = e->mem[0];

	if (e->pair) {
		m.width /= 2;
		m.vector = false;
		m.disp += which ? m.width : 0;
	}
	return m;
}

/* A spilled pointer to a base class; the variable that is there is to the derived one. */
static struct value spilled(const struct flow *w, const struct slot *x)
{
	for (unsigned i = 0; x->value.kind == VALUE_POINTER && i < w->n_active; i++) {
		const struct type_fact *f = w->active[i];
		struct value v;

		if (f->in != FACT_FRAME || f->off != x->off)
			continue;
		v = type_value(w->t, f->value.type);
		if (v.kind == VALUE_POINTER && !type_same(w->t, v.type, x->value.type) &&
		    value_is_part(w->t, &v, &x->value))
			return v;
	}
	return x->value;
}

static void add_loaded_choice(struct flow *w, size_t insn, const struct type_hit *h)
{
	struct type_choice c;

	if (w->origin[insn].kind == VALUE_POINTER || w->origin[insn].type ||
	    !type_choice(w->t, h, &c))
		return;
	vec_xpush(&w->choice, c);
	w->origin[insn].type = (uint32_t)w->choice.n;
}

/* `which` of a pair. */
static struct value loaded_value(struct flow *w, struct state *s, size_t insn, unsigned which)
{
	const struct effect_mem m = half(&w->insn.v[insn], which);
	struct value at = flow_address(w, s, &m), v = value_unknown;
	struct type_hit h = { .root = TYPE_NONE };
	const struct type_linked *linked;
	bool stack;

	if (at.kind == VALUE_FRAME && !at.indexed) {
		const struct slot *x = state_slot(s, at.off);

		if (x)
			return spilled(w, x);
	}
	if (at.kind == VALUE_ADDRESS && !at.indexed) {
		linked = type_linked_at(w->t, (uint64_t)at.off);
		if (linked && (linked->kind == LINKED_ADDRESS || linked->kind == LINKED_OFFSET))
			return (struct value){ .kind = linked->kind == LINKED_ADDRESS
							       ? VALUE_ADDRESS
							       : VALUE_OFFSET,
					       .off = (int64_t)linked->value };
	}
	/* of a union of pointers, later use decides which one it is */
	if (flow_access(w, s, &m, &h, &stack) == TYPES_KNOWN && h.leaf != TYPE_NONE &&
	    w->t->type.v[h.leaf].size == 8 && !h.several)
		v = type_value(w->t, h.leaf);
	if (h.several && !which)
		add_loaded_choice(w, insn, &h);
	if (v.kind == VALUE_UNKNOWN || value_is_void(w->t, &v))
		return which ? value_unknown : flow_origin(w, insn);
	return v;
}

/* Accesses decide which pointer of a union it is. */
static void choose_pointers(struct flow *w, const struct state *s, const struct effect *e)
{
	for (unsigned i = 0; i < e->n_mem; i++) {
		struct value at = flow_address(w, s, &e->mem[i]);
		const struct value *o = at.kind == VALUE_ORIGIN ? &w->origin[at.type] : NULL;

		if (!o || at.indexed || o->kind == VALUE_POINTER || !o->type)
			continue;
		type_choose(w->t, &w->choice.v[o->type - 1], at.off, &e->mem[i]);
	}
}

/* A value that is stored in a field of a known type has that type. */
static void learn_stored(struct flow *w, const struct state *s, uint8_t src,
			 const struct effect_mem *m)
{
	struct type_hit h;
	struct value v;
	bool stack;

	if (src >= EFFECT_REGS || s->reg[src].kind != VALUE_ORIGIN ||
	    flow_access(w, s, m, &h, &stack) != TYPES_KNOWN || h.leaf == TYPE_NONE ||
	    w->t->type.v[h.leaf].size != 8 || h.several)
		return;
	v = type_value(w->t, h.leaf);
	if (!value_is_void(w->t, &v))
		flow_learn(w, &s->reg[src], &v);
}

static void store_slots(const struct flow *w, struct state *s, const struct effect *e)
{
	bool whole = e->op == EFFECT_STORE;
	const struct value *v = whole ? in_register(s, e->src) : &value_unknown;

	for (unsigned i = 0; i < e->n_mem; i++) {
		struct value at = flow_address(w, s, &e->mem[i]);

		if (!e->mem[i].store || at.kind != VALUE_FRAME)
			continue;
		if (at.indexed)
			s->slots = 0;
		else
			state_set_slot(s, at.off, e->mem[i].width, v);
		if (!at.indexed && whole && e->pair)
			state_set_slot(s, at.off + 8, 8, in_register(s, e->src2));
	}
}

static struct value value_sum(const struct flow *w, const struct value *a, const struct value *b)
{
	struct value v = flow_thread_sum(w, a, b);

	if (v.kind == VALUE_THREAD)
		return v;
	if (value_is_base(a))
		return value_is_base(b) ? value_unknown : value_plus(*a, 0, true);
	return value_is_base(b) ? value_plus(*b, 0, true) : value_unknown;
}

static void pop_register(struct state *s, uint8_t dst)
{
	struct value *sp = &s->reg[EFFECT_RSP], v = value_unknown;

	if (sp->kind == VALUE_FRAME) {
		const struct slot *x = state_slot(s, sp->off);

		v = x ? x->value : value_unknown;
		*sp = value_plus(*sp, 8, false);
	}
	if (dst != EFFECT_NONE)
		s->reg[dst] = v;
}

static void step_stack(struct state *s, const struct effect *e)
{
	struct value *sp = &s->reg[EFFECT_RSP];

	if (e->op == EFFECT_LEAVE)
		*sp = s->reg[EFFECT_RBP];
	if (e->op != EFFECT_PUSH) {
		pop_register(s, e->op == EFFECT_LEAVE ? EFFECT_RBP : e->dst);
		return;
	}
	*sp = value_plus(*sp, -8, false);
	if (sp->kind == VALUE_FRAME)
		state_set_slot(s, sp->off, 8,
			       e->src == EFFECT_NONE ? &value_unknown : &s->reg[e->src]);
}

/* The value of the destination afterwards. */
static struct value result_value(struct flow *w, struct state *s, size_t insn)
{
	const struct effect *e = &w->insn.v[insn];
	const struct value *dst = in_register(s, e->dst);
	const struct value *src = in_register(s, e->src), *src2 = in_register(s, e->src2);
	struct value v;

	switch ((enum effect_op)e->op) {
	case EFFECT_COPY:
		return *src;
	case EFFECT_CHOOSE:
		return value_merge(w->t, src, src2);
	case EFFECT_SET:
		return e->imm ? (struct value){ .kind = VALUE_ADDRESS, .off = e->imm }
			      : (struct value){ .kind = VALUE_NULL };
	case EFFECT_LOAD:
		return loaded_value(w, s, insn, 0);
	case EFFECT_LEA:
		return flow_address(w, s, &e->mem[0]);
	case EFFECT_ADD:
		return value_plus(*dst, e->imm, false);
	case EFFECT_ADD_REG:
		return value_sum(w, dst, src);
	case EFFECT_ADD_LOAD:
		v = loaded_value(w, s, insn, 0);
		return value_sum(w, dst, &v);
	case EFFECT_ADD_ANY:
		return value_is_base(src) ? value_unknown : value_plus(*dst, 0, true);
	case EFFECT_THREAD:
		return (struct value){ .kind = VALUE_THREAD, .off = w->t->thread_pointer };
	case EFFECT_LESS:
		return value_is_base(src2) ? value_unknown : value_plus(*src, 0, true);
	default:
		return value_unknown;
	}
}

void flow_step(struct flow *w, struct state *s, size_t insn)
{
	const struct effect *e = &w->insn.v[insn];
	struct value v, other, moved = value_unknown;

	if (e->flow == INSN_CALL) {
		flow_call(w, s, insn);
		return;
	}
	if (e->op == EFFECT_PUSH || e->op == EFFECT_POP || e->op == EFFECT_LEAVE) {
		step_stack(s, e);
		return;
	}
	choose_pointers(w, s, e);
	for (unsigned i = 0; e->op == EFFECT_STORE && i < 1u + e->pair; i++) {
		struct effect_mem m = half(e, i);

		learn_stored(w, s, i ? e->src2 : e->src, &m);
	}
	store_slots(w, s, e);
	v = e->dst == EFFECT_NONE ? value_unknown : result_value(w, s, insn);
	other = e->op == EFFECT_LOAD && e->pair && e->src2 < EFFECT_REGS
			? loaded_value(w, s, insn, 1)
			: value_unknown;
	if (e->step != EFFECT_NONE)
		moved = value_plus(s->reg[e->step], e->step_by, false);
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		if (e->writes >> r & 1)
			s->reg[r] = value_unknown;
	if (e->dst < EFFECT_REGS && e->writes >> e->dst & 1)
		s->reg[e->dst] = v;
	if (e->op == EFFECT_LOAD && e->src2 < EFFECT_REGS && e->pair)
		s->reg[e->src2] = other;
	if (e->step != EFFECT_NONE)
		s->reg[e->step] = moved;
}
