/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_call - types of results and arguments of calls: a value that is given to
 * a parameter has its type.
 *
 * Arguments in registers, as the procedure call standards have them: pointers, references and
 * integers take the next of six registers, or of AArch64's eight, floating-point numbers none.
 * Behind a structure by value nothing is known: it may be in registers or in memory.
 */
#include <dwarf.h>
#include <string.h>

#include "base/bisect.h"
#include "symbol/types/types_state.h"

static bool is_floating(const struct types *t, uint32_t type)
{
	uint64_t v;

	return t->type.v[type].kind == TYPE_SCALAR &&
	       src_number(&t->type.v[type].die, DW_AT_encoding, &v) &&
	       (v == DW_ATE_float || v == DW_ATE_complex_float);
}

/* The function that the DIE is an instance of, or declares. */
static Dwarf_Die origin_of(Dwarf_Die die)
{
	Dwarf_Attribute attr;

	for (int i = 0; i < SRC_MAX_CHAIN; i++)
		if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attr) &&
		     !dwarf_attr(&die, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &die))
			break;
	return die;
}

void type_call_of(struct types *t, const Dwarf_Die *function, struct type_call *out)
{
	Dwarf_Die of = origin_of(*function), die;
	const struct effect_machine *m = t->machine;
	unsigned n = 0;

	for (unsigned i = 0; i < EFFECT_ARGUMENTS; i++)
		out->argument[i] = TYPE_NONE;
	out->returned = type_of_attr(t, &of);
	if (type_in_memory(t, out->returned) && m->memory_result == m->argument[0])
		out->argument[n++] = out->returned;
	if (dwarf_child(&of, &die))
		return;
	for (int i = 0; i < 64 && n < m->arguments; i++) {
		if (dwarf_tag(&die) == DW_TAG_formal_parameter) {
			uint32_t type = type_of_attr(t, &die);
			struct value v;

			if (t->type.v[type].kind == TYPE_OPAQUE ||
			    t->type.v[type].kind == TYPE_STRUCT || t->type.v[type].size > 8)
				return;
			v = type_value(t, type);
			if (v.kind == VALUE_POINTER)
				out->argument[n] = v.type;
			n += !is_floating(t, type);
		}
		if (dwarf_siblingof(&die, &die))
			return;
	}
}

/* A call through a pointer of a known type. */
static bool by_pointer(struct flow *w, const struct state *s, const struct effect *e,
		       struct type_call *out)
{
	struct type_hit h;
	uint32_t to;
	bool stack;

	if (!e->n_mem || e->mem[0].implicit ||
	    flow_access(w, s, &e->mem[0], &h, &stack) != TYPES_KNOWN || h.leaf == TYPE_NONE ||
	    w->t->type.v[h.leaf].kind != TYPE_POINTER)
		return false;
	to = type_target(w->t, h.leaf);
	if (w->t->type.v[to].kind != TYPE_FUNCTION)
		return false;
	type_call_of(w->t, &w->t->type.v[to].die, out);
	return true;
}

static bool find_call(struct flow *w, const struct state *s, const struct effect *e,
		      struct type_call *out)
{
	uint64_t pc = e->vaddr + e->len;
	const struct type_function *f;
	size_t at;

	bisect(at, w->call.n, i, w->call.v[i].pc >= pc);
	if (at < w->call.n && w->call.v[at].pc == pc) {
		*out = w->call.v[at];
		return true;
	}
	f = e->has_target ? type_function_at(w->t, e->target) : NULL;
	if (!f)
		return by_pointer(w, s, e, out);
	type_call_of(w->t, &f->die, out);
	return true;
}

static struct value returned(const struct flow *w, const struct type_call *c)
{
	if (type_in_memory(w->t, c->returned) && w->t->machine->memory_result_is_back)
		return (struct value){ .kind = VALUE_POINTER, .type = c->returned };
	return type_value(w->t, c->returned);
}

static void learn_argument(struct flow *w, const struct value *v, uint32_t type)
{
	const struct value is = { .kind = VALUE_POINTER, .type = type };

	if (v->kind == VALUE_FRAME && !v->indexed && w->t->type.v[type].kind == TYPE_STRUCT)
		flow_learn_object(w, v->off, type);
	else
		flow_learn(w, v, &is);
}

/* A call that gets the address of a thread-local variable; false: the call is another one. */
static bool gets_thread_local(struct flow *w, struct state *s)
{
	const struct effect_machine *m = w->t->machine;
	const struct value *in = &s->reg[m->argument[0]], *desc = &s->reg[m->result];
	const struct type_linked *l = NULL;
	int64_t off;

	if (desc->kind == VALUE_ADDRESS && !desc->indexed)
		l = type_linked_at(w->t, (uint64_t)desc->off);
	if (l && l->kind == LINKED_CALL) { /* keeps all other registers */
		s->reg[m->result] =
			(struct value){ .kind = VALUE_OFFSET, .off = (int64_t)l->value };
		return true;
	}
	l = in->kind == VALUE_ADDRESS && !in->indexed ? type_linked_at(w->t, (uint64_t)in->off)
						      : NULL;
	if (!l || l->kind != LINKED_PAIR || !type_linked_pair(w->t, l, &off))
		return false;
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		if (m->clobbers >> r & 1)
			s->reg[r] = (struct value){ .kind = VALUE_UNKNOWN };
	s->reg[m->result] = (struct value){ .kind = VALUE_THREAD, .off = off };
	return true;
}

void flow_call(struct flow *w, struct state *s, size_t insn)
{
	const struct effect_machine *m = w->t->machine;
	struct value v = { .kind = VALUE_UNKNOWN };
	struct type_call c;

	if (gets_thread_local(w, s))
		return;
	if (find_call(w, s, &w->insn.v[insn], &c)) {
		v = returned(w, &c);
		for (unsigned i = 0; i < m->arguments; i++) {
			uint32_t type = c.argument[i];
			const struct type *y = type == TYPE_NONE ? NULL : &w->t->type.v[type];

			/* bytes can be of anything */
			if (y && y->size > 1 && y->kind != TYPE_OPAQUE && y->kind != TYPE_FUNCTION)
				learn_argument(w, &s->reg[m->argument[i]], type);
		}
	}
	if (v.kind == VALUE_UNKNOWN || value_is_void(w->t, &v))
		v = flow_origin(w, insn);
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		if (m->clobbers >> r & 1)
			s->reg[r] = (struct value){ .kind = VALUE_UNKNOWN };
	s->reg[m->result] = v;
}
