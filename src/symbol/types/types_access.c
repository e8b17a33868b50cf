/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_access - the address that an operand has, and the type and field that are there.
 */
#include "symbol/types/types_state.h"

enum { FACT_MAX_INSNS = 4096 }; /* of a variable's range that are looked at */

/* ---- addresses ------------------------------------------------------------------------------- */

/* The thread's pointer plus a register. */
static struct value in_thread(const struct flow *w, const struct value *v)
{
	struct value out = { .kind = VALUE_THREAD, .indexed = v->indexed, .off = v->off };

	if (v->kind == VALUE_ADDRESS) /* a constant */
		return value_plus(out, w->t->thread_pointer, false);
	return v->kind == VALUE_OFFSET ? out : value_unknown;
}

static bool is_thread_pointer(const struct flow *w, const struct value *v)
{
	return v->kind == VALUE_THREAD && !v->indexed && v->off == w->t->thread_pointer;
}

/* An offset and the thread's pointer are the address of a variable; else VALUE_UNKNOWN. */
struct value flow_thread_sum(const struct flow *w, const struct value *a, const struct value *b)
{
	struct value v = value_unknown;

	if (is_thread_pointer(w, a))
		v = in_thread(w, b);
	return v.kind == VALUE_UNKNOWN && is_thread_pointer(w, b) ? in_thread(w, a) : v;
}

struct value flow_address(const struct flow *w, const struct state *s, const struct effect_mem *m)
{
	const struct value *v;
	struct value x;

	if (m->absolute) {
		x = (struct value){ .kind = VALUE_ADDRESS, .indexed = m->indexed, .off = m->disp };
		return m->segment ? in_thread(w, &x) : x;
	}
	if (m->base == EFFECT_NONE)
		return value_unknown;
	v = &s->reg[m->base];
	if (m->segment)
		return value_plus(in_thread(w, v), m->disp, m->indexed);
	if (m->plain_index && m->index != EFFECT_NONE) {
		x = flow_thread_sum(w, v, &s->reg[m->index]);
		if (x.kind == VALUE_THREAD)
			return value_plus(x, m->disp, false);
	}
	if (!value_is_base(v) && m->plain_index && m->index != EFFECT_NONE &&
	    value_is_base(&s->reg[m->index]))
		v = &s->reg[m->index];
	return value_plus(*v, m->disp, m->indexed);
}

/* ---- the object of an access --------------------------------------------------------------------
 */

static void keep_better(const struct flow *w, struct type_hit *best, const struct type_hit *h)
{
	const struct types *t = w->t;
	bool opaque = best->opaque || h->opaque;

	best->opaque = opaque;
	if (h->root == TYPE_NONE || h->score < best->score)
		return;
	/* the larger object, if both fit as well */
	if (h->score == best->score && t->type.v[h->root].size <= t->type.v[best->root].size)
		return;
	*best = *h;
	best->opaque = opaque;
}

static void try_pointer(const struct flow *w, const struct value *v, const struct effect_mem *m,
			struct type_hit *best)
{
	uint64_t size = v->kind == VALUE_POINTER ? w->t->type.v[v->type].size : 0;
	struct type_hit h;

	/* a pointer into the surroundings of a known scalar is no pointer to an array of it */
	if (v->kind != VALUE_POINTER ||
	    (!v->indexed && ((v->off < 0 && w->t->type.v[v->type].kind != TYPE_STRUCT) ||
			     (v->off < m->disp && (uint64_t)v->off >= size))))
		return;
	type_hit(w->t, v->type, v->off, type_reach_of(v), m, &h);
	keep_better(w, best, &h);
}

/* Objects in the frame, wherever their location counts from. */
static void try_frame(const struct flow *w, const struct state *s, const struct value *at,
		      const struct effect_mem *m, struct type_hit *best)
{
	for (unsigned i = 0; i < w->n_active; i++) {
		const struct type_fact *f = w->active[i];
		const struct value *reg = &s->reg[f->reg];
		int64_t start = f->off;
		struct type_hit h;

		if (f->in == FACT_REGISTER || (f->in == FACT_BASED && reg->kind != VALUE_FRAME))
			continue;
		if (f->in == FACT_BASED)
			start += reg->off;
		(void)type_target(w->t, f->value.type);
		if (at->off < start ||
		    (uint64_t)(at->off - start) >= w->t->type.v[f->value.type].size)
			continue;
		type_hit(w->t, f->value.type, at->off - start, type_reach_of(at), m, &h);
		keep_better(w, best, &h);
	}
}

/* The latest that the address is in; of no variable that DWARF has there. */
static void try_objects(const struct flow *w, const struct value *at, const struct effect_mem *m,
			struct type_hit *best)
{
	for (unsigned i = w->n_objects; i-- && best->root == TYPE_NONE;) {
		const struct type_place *o = &w->object[i];
		int64_t into = at->off - (int64_t)o->off;
		struct type_hit h;

		if (into < 0 || (uint64_t)into >= w->t->type.v[o->type].size)
			continue;
		type_hit(w->t, o->type, into, type_reach_of(at), m, &h);
		keep_better(w, best, &h);
	}
}

/* Data of the compiler: tables of jumps, constants. */
static void try_made(const struct flow *w, const struct value *at, const struct effect_mem *m,
		     struct type_hit *best)
{
	enum type_made made = TYPE_MADE_TABLE;

	if (at->kind != VALUE_ADDRESS || m->store)
		return;
	if (!at->indexed && m->absolute && m->width && flow_is_constant(w, (uint64_t)at->off))
		made = TYPE_MADE_CONSTANT;
	else if (!at->indexed || !flow_table_at(w, (uint64_t)at->off))
		return;
	*best = (struct type_hit){ .width = m->width };
	best->root = best->leaf = type_made(w->t, made, m->width);
	best->size = m->width;
}

/* Code writes the register while it should hold the variable. */
static bool is_fact_overwritten(const struct flow *w, struct type_fact *f)
{
	size_t first = flow_insn_behind(w, f->lo);

	if (f->kept != FACT_ASK)
		return f->kept == FACT_OVERWRITTEN;
	f->kept = FACT_KEPT;
	for (size_t i = first; i < w->insn.n && i < first + FACT_MAX_INSNS &&
			       w->insn.v[i].vaddr + w->insn.v[i].len < f->hi;
	     i++)
		if (w->insn.v[i].writes >> f->reg & 1)
			f->kept = FACT_OVERWRITTEN;
	return f->kept == FACT_OVERWRITTEN;
}

/* A variable is of another type than the value that the code put into the register since. */
static bool contradicts(const struct flow *w, const struct state *s, struct type_fact *f)
{
	const struct value *v = &s->reg[f->reg];

	return f->in == FACT_REGISTER && v->kind == VALUE_POINTER && !value_is_void(w->t, v) &&
	       w->t->type.v[v->type].kind == TYPE_STRUCT &&
	       w->t->type.v[f->value.type].kind == TYPE_STRUCT &&
	       !value_is_part(w->t, &f->value, v) && !value_is_part(w->t, v, &f->value) &&
	       is_fact_overwritten(w, f);
}

/* The offset in a variable that lies in memory at a register; false: the access is beside it. */
static bool into_object(const struct flow *w, const struct type_fact *f, const struct effect_mem *m,
			struct value *v)
{
	const struct type *y;

	*v = value_plus(*v, -f->off, false);
	(void)type_target(w->t, f->value.type); /* of arrays: the size */
	y = &w->t->type.v[f->value.type];
	if (y->kind == TYPE_ARRAY && (m->indexed || !y->size))
		return true;
	return v->off >= 0 && (uint64_t)v->off < y->size;
}

/* Variables in the registers of the operand, besides their known values. */
static void try_variables(const struct flow *w, const struct state *s, const struct effect_mem *m,
			  struct type_hit *best)
{
	bool known = best->root != TYPE_NONE;

	for (unsigned i = 0; i < w->n_active; i++) {
		struct type_fact *f = w->active[i];
		bool is_index = m->plain_index && m->index != EFFECT_NONE && f->reg == m->index;
		struct value v = f->value;

		if (m->absolute || (f->reg != m->base && !is_index) || f->in == FACT_FRAME)
			continue;
		if (known && contradicts(w, s, f))
			continue;
		v = value_plus(v, m->disp, m->indexed);
		if (f->in == FACT_BASED && !into_object(w, f, m, &v))
			continue;
		try_pointer(w, &v, m, best);
	}
}

enum types_why flow_access(struct flow *w, const struct state *s, const struct effect_mem *m,
			   struct type_hit *best, bool *stack)
{
	struct value at = flow_address(w, s, m);
	const struct type_static *x;
	struct type_hit h;
	bool found = false;

	*best = (struct type_hit){ .root = TYPE_NONE };
	*stack = m->implicit || at.kind == VALUE_FRAME ||
		 (!m->absolute && m->base == w->t->machine->sp);
	if (m->implicit)
		return TYPES_STACK;
	if (at.kind == VALUE_FRAME) {
		try_frame(w, s, &at, m, best);
		try_objects(w, &at, m, best);
	} else if (at.kind == VALUE_ADDRESS || at.kind == VALUE_THREAD) {
		x = value_variable(w->t, &at);
		found = x != NULL;
		if (!found)
			try_made(w, &at, m, best);
		else
			type_hit(w->t, x->type, (int64_t)((uint64_t)at.off - x->start),
				 type_reach_of(&at), m, &h);
		if (found)
			keep_better(w, best, &h);
	} else {
		try_pointer(w, &at, m, best);
	}
	if (!*stack && !m->segment)
		try_variables(w, s, m, best);
	if (best->root == TYPE_NONE && at.kind == VALUE_POINTER && at.derived &&
	    at.derived != TYPE_NONE) {
		at.type = at.derived - 1;
		try_pointer(w, &at, m, best);
	}
	if (best->root != TYPE_NONE)
		return TYPES_KNOWN;
	if (*stack)
		return TYPES_STACK;
	if (m->segment || at.kind == VALUE_THREAD)
		return TYPES_THREAD_LOCAL;
	if (at.kind == VALUE_ADDRESS && !found)
		return TYPES_NO_VARIABLE;
	if (best->opaque)
		return TYPES_VOID;
	return at.kind == VALUE_POINTER || found ? TYPES_MISFIT : TYPES_NO_BASE;
}
