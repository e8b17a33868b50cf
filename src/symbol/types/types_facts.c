/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_facts - where the variables of a function are while it runs, and the results of its calls.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/types/types_int.h"

/* ---- locations ------------------------------------------------------------------------------- */

struct walk {
	struct types *t;
	type_facts *facts;
	type_calls *calls;
	/* the frame base: the CFA, or a register */
	bool has_base, base_is_cfa;
	uint8_t base_reg;
};

/* The register and the offset that an operation means; false: another operation. */
static bool register_of(const struct types *t, const Dwarf_Op *op, bool *address, uint8_t *reg,
			int64_t *off)
{
	uint64_t r;

	*off = 0;
	*address = true;
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		r = op->atom - DW_OP_reg0;
		*address = false;
	} else if (op->atom == DW_OP_regx) {
		r = op->number;
		*address = false;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		r = op->atom - DW_OP_breg0;
		*off = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		r = op->number;
		*off = (int64_t)op->number2;
	} else {
		return false;
	}
	*reg = (uint8_t)r;
	return (r < t->machine->regs) && (*off > -INT32_MAX) && (*off < INT32_MAX);
}

static void add_variable_fact(const struct walk *w, const struct type_fact *f)
{
	if (f->lo >= f->hi || w->facts->n >= TYPES_MAX_FACTS)
		return;
	if (f->in == FACT_REGISTER && f->value.kind != VALUE_POINTER)
		return;
	/* an empty class has no data, and hides the object around it */
	if (w->t->type.v[f->value.type].kind == TYPE_STRUCT &&
	    w->t->type.v[f->value.type].size <= 1)
		return;
	vec_xpush(w->facts, *f);
}

static void add_in_frame(const struct walk *w, struct type_fact *f, int64_t off)
{
	if (!w->has_base || off <= -INT32_MAX || off >= INT32_MAX)
		return;
	f->in = w->base_is_cfa ? FACT_FRAME : FACT_BASED;
	f->reg = w->base_reg;
	f->off = off;
	add_variable_fact(w, f);
}

/* The piece of a structure that is `at` bytes into it: a register that holds it, or a place. */
static void add_piece_fact(const struct walk *w, struct type_fact *f, uint32_t type, int64_t at,
			   const Dwarf_Op *op)
{
	const struct effect_mem m = { .width = 8 };
	struct type_hit hit;
	bool address;
	int64_t off;

	type_hit(w->t, type, at, REACH_ONE, &m, &hit);
	if (hit.root == TYPE_NONE || hit.leaf == TYPE_NONE)
		return;
	f->value = (struct value){ .kind = VALUE_POINTER, .type = hit.leaf };
	if (op->atom == DW_OP_fbreg) {
		add_in_frame(w, f, (int64_t)op->number);
		return;
	}
	if (!register_of(w->t, op, &address, &f->reg, &off))
		return;
	f->in = address ? FACT_BASED : FACT_REGISTER;
	f->off = off;
	if (!address)
		f->value = type_value(w->t, hit.leaf);
	add_variable_fact(w, f);
}

/* The fact of one location of a variable. */
static void add_location(const struct walk *w, struct type_fact *f, uint32_t type,
			 const Dwarf_Op *op, size_t n)
{
	bool address;
	int64_t off, at = 0;

	f->value = (struct value){ .kind = VALUE_POINTER, .type = type };
	if (n > 1 && op[n - 1].atom == DW_OP_piece) { /* a structure in several places */
		for (size_t i = 0; i < n; i++)
			if (op[i].atom == DW_OP_piece)
				at += (int64_t)(op[i].number & 0xffff);
			else if (i + 1 < n && op[i + 1].atom == DW_OP_piece &&
				 op[i + 1].number == 8)
				add_piece_fact(w, f, type, at, &op[i]);
	} else if (n == 1 && op->atom == DW_OP_fbreg) {
		add_in_frame(w, f, (int64_t)op->number);
	} else if (n && register_of(w->t, op, &address, &f->reg, &off)) {
		if (n == 1 && address) {
			f->in = FACT_BASED;
			f->off = off;
		} else if (n == 1 || (n == 2 && address && op[1].atom == DW_OP_stack_value)) {
			/* the value is in the register, or is the register plus a number */
			f->in = FACT_REGISTER;
			f->value = type_value(w->t, type);
			f->value.off -= off;
		} else {
			return;
		}
		add_variable_fact(w, f);
	}
}

static void add_variable(const struct walk *w, Dwarf_Die *die, Dwarf_Die *scope, uint32_t depth)
{
	Dwarf_Addr base, lo, hi;
	Dwarf_Attribute attr;
	ptrdiff_t at = 0;
	uint32_t type;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return;
	type = type_of_attr(w->t, die);
	while (w->facts->n < TYPES_MAX_FACTS &&
	       (at = dwarf_getlocations(&attr, at, &base, &lo, &hi, &op, &n)) > 0) {
		struct type_fact f = { .lo = lo, .hi = hi, .depth = depth };
		ptrdiff_t range = 0;

		if (lo || hi != (Dwarf_Addr)-1) {
			add_location(w, &f, type, op, n);
			continue;
		}
		/* in all of its scope, whose code may lie in several places */
		while (w->t->budget && (range = dwarf_ranges(scope, range, &base, &lo, &hi)) > 0) {
			w->t->budget--;
			f.lo = lo;
			f.hi = hi;
			add_location(w, &f, type, op, n);
		}
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call, by the address that it comes back to. */
static void add_call_site(const struct walk *w, Dwarf_Die *die)
{
	struct type_call c;
	Dwarf_Attribute attr;
	Dwarf_Die callee;
	Dwarf_Addr pc;

	if ((!dwarf_attr(die, DW_AT_call_return_pc, &attr) &&
	     !dwarf_attr(die, DW_AT_low_pc, &attr)) ||
	    dwarf_formaddr(&attr, &pc))
		return;
	if ((!dwarf_attr(die, DW_AT_call_origin, &attr) &&
	     !dwarf_attr(die, DW_AT_abstract_origin, &attr)) ||
	    !dwarf_formref_die(&attr, &callee))
		return;
	c.pc = pc;
	type_call_of(w->t, &callee, &c);
	vec_xpush(w->calls, c);
}

/* ---- a function's scopes --------------------------------------------------------------------- */

static void walk_scope(const struct walk *w, Dwarf_Die *scope, uint32_t depth)
{
	Dwarf_Die die;

	if (depth >= SRC_MAX_DEPTH || dwarf_child(scope, &die))
		return;
	do {
		if (!w->t->budget)
			return;
		w->t->budget--;
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			add_variable(w, &die, scope, depth);
			break;
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			add_call_site(w, &die);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			walk_scope(w, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

static int by_start(const void *a, const void *b)
{
	const struct type_fact *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->reg > y->reg) - (x->reg < y->reg);
}

static int by_pc(const void *a, const void *b)
{
	const struct type_call *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

void type_facts_read(struct types *t, const struct type_function *f, type_facts *facts,
		     type_calls *calls)
{
	struct walk w = { .t = t, .facts = facts, .calls = calls };
	Dwarf_Die die = f->die;
	Dwarf_Attribute attr;
	bool address;
	int64_t off;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_attr_integrate(&die, DW_AT_frame_base, &attr) &&
	    !dwarf_getlocation(&attr, &op, &n) && n == 1) {
		w.base_is_cfa = op->atom == DW_OP_call_frame_cfa;
		w.has_base = w.base_is_cfa ||
			     (register_of(t, op, &address, &w.base_reg, &off) && !address);
	}
	walk_scope(&w, &die, 0);
	vec_sort(facts, by_start);
	vec_sort(calls, by_pc);
}
