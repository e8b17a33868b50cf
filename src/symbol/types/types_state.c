/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/types/types_state.h"

#include <string.h>

void state_init(struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		s->reg[r] = value_unknown;
}

struct slot *state_slot(struct state *s, int64_t off)
{
	for (unsigned i = 0; i < s->slots; i++)
		if (s->slot[i].off == off)
			return &s->slot[i];
	return NULL;
}

void state_set_slot(struct state *s, int64_t off, unsigned width, const struct value *v)
{
	struct slot *x;
	unsigned n = 0;

	/* overlapping ones are overwritten */
	for (unsigned i = 0; i < s->slots; i++)
		if (s->slot[i].off <= off - 8 || s->slot[i].off >= off + (int64_t)width)
			s->slot[n++] = s->slot[i];
	s->slots = n;
	if (v->kind == VALUE_UNKNOWN)
		return;
	if (n == STATE_SLOTS) { /* the oldest goes */
		memmove(s->slot, s->slot + 1, (STATE_SLOTS - 1) * sizeof(*s->slot));
		s->slots--;
	}
	x = &s->slot[s->slots++];
	*x = (struct slot){ off, *v };
}

/* ---- values that are learnt of later --------------------------------------------------------- */

struct value flow_origin(const struct flow *w, size_t insn)
{
	if (w->origin[insn].kind == VALUE_POINTER)
		return w->origin[insn];
	return (struct value){ .kind = VALUE_ORIGIN, .type = (uint32_t)insn };
}

struct value flow_origin_of_block(const struct flow *w, size_t block, unsigned reg)
{
	return flow_origin(w, w->insn.n + block * EFFECT_REGS + reg);
}

/* A variable or a field of a known type has the value. */
void flow_learn(struct flow *w, const struct value *v, const struct value *is)
{
	struct value *o;

	if (v->kind != VALUE_ORIGIN || v->indexed || is->kind != VALUE_POINTER)
		return;
	o = &w->origin[v->type];
	if (o->kind == VALUE_POINTER || __builtin_sub_overflow(is->off, v->off, &o->off))
		return;
	o->kind = VALUE_POINTER;
	o->type = is->type;
	o->indexed = is->indexed;
	o->stepped = is->stepped;
	w->learnt = true;
}

void flow_learn_object(struct flow *w, int64_t off, uint32_t type)
{
	for (unsigned i = 0; i < w->n_objects; i++)
		if (w->object[i].off == (uint64_t)off && w->object[i].type == type)
			return;
	if (w->n_objects == FLOW_OBJECTS)
		return;
	w->object[w->n_objects++] = (struct type_place){ type, (uint64_t)off };
	w->learnt = true;
}

bool state_merge(struct flow *w, size_t block, struct state *into, const struct state *from)
{
	bool changed = false;
	unsigned n = 0;

	for (unsigned r = 0; r < EFFECT_REGS; r++) {
		struct value v = value_merge(w->t, &into->reg[r], &from->reg[r]);
		struct value o = flow_origin_of_block(w, block, r);

		/* paths disagree: the result may be learnt */
		if (v.kind == VALUE_UNKNOWN || value_same(&into->reg[r], &o))
			v = o;
		changed |= !value_same(&v, &into->reg[r]);
		into->reg[r] = v;
	}
	for (unsigned i = 0; i < into->slots; i++) {
		struct slot x = into->slot[i];
		const struct slot *y = state_slot((struct state *)(uintptr_t)from, x.off);
		struct value v = y ? value_merge(w->t, &x.value, &y->value) : value_unknown;

		changed |= !value_same(&v, &x.value);
		x.value = v;
		if (v.kind != VALUE_UNKNOWN)
			into->slot[n++] = x;
	}
	into->slots = n;
	return changed;
}

/* ---- variables ------------------------------------------------------------------------------- */

void flow_facts_begin(struct flow *w, uint64_t vaddr)
{
	w->n_active = 0;
	for (w->next_fact = 0; w->next_fact < w->facts.n; w->next_fact++) {
		struct type_fact *f = &w->facts.v[w->next_fact];

		if (f->lo > vaddr)
			break;
		if (f->hi > vaddr && w->n_active < FLOW_ACTIVE)
			w->active[w->n_active++] = f;
	}
}

static bool may_be_learnt(const struct types *t, const struct value *v)
{
	return v->kind == VALUE_UNKNOWN || v->kind == VALUE_ORIGIN || v->kind == VALUE_NULL ||
	       value_is_void(t, v);
}

static void apply_variable(struct flow *w, struct state *s, const struct type_fact *f, bool begins)
{
	struct value *v = &s->reg[f->reg];

	if (f->in != FACT_REGISTER || v->kind == VALUE_FRAME || value_is_void(w->t, &f->value))
		return;
	flow_learn(w, v, &f->value);
	if (v->kind == VALUE_POINTER && !value_is_void(w->t, v) &&
	    (!begins || value_is_part(w->t, v, &f->value)))
		return;
	if (begins || may_be_learnt(w->t, v))
		*v = f->value;
}

void flow_facts_at(struct flow *w, struct state *s, uint64_t vaddr, bool first)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_active; i++)
		if (w->active[i]->hi > vaddr)
			w->active[n++] = w->active[i];
	w->n_active = n;
	for (unsigned i = 0; first && i < n; i++)
		apply_variable(w, s, w->active[i], w->active[i]->lo == vaddr);
	for (; w->next_fact < w->facts.n && w->facts.v[w->next_fact].lo <= vaddr; w->next_fact++) {
		struct type_fact *f = &w->facts.v[w->next_fact];

		if (f->hi <= vaddr || w->n_active == FLOW_ACTIVE)
			continue;
		w->active[w->n_active++] = f;
		apply_variable(w, s, f, f->lo == vaddr);
	}
	/* a register that lost its value may still be a variable's */
	for (unsigned i = 0; i < w->n_active; i++)
		if (may_be_learnt(w->t, &s->reg[w->active[i]->reg]))
			apply_variable(w, s, w->active[i], false);
}
