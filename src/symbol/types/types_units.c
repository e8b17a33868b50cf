/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_units - DIEs at the outer levels of units: functions by address, static variables, and
 * the namespaces that types are in.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/types/types_int.h"

enum unit_find { FIND_FUNCTIONS, FIND_STATICS, FIND_DEFINITIONS };

struct unit_walk {
	struct types *t;
	uint32_t unit;
	enum unit_find find;
};

static void add_unit_function(const struct unit_walk *w, Dwarf_Die *die)
{
	struct types *t = w->t;
	struct type_range r = { .function = (uint32_t)t->function.n };
	Dwarf_Addr base, lo, hi;
	struct type_function *f;
	ptrdiff_t at = 0;
	size_t before = t->own.n;

	while (t->budget && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		t->budget--;
		r.lo = lo;
		r.hi = hi;
		if (lo < hi && src_is_code(t->source, lo))
			vec_xpush(&t->own, r);
	}
	if (t->own.n == before)
		return;
	f = arena_xalloc(&t->arena, sizeof(*f));
	f->unit = w->unit;
	f->first_range = before;
	f->n_ranges = t->own.n - before;
	f->die = *die;
	vec_xpush(&t->function, f);
}

/* An offset in the block of thread-local variables, and the operation that makes an address of it.
 */
static bool is_thread_local(const Dwarf_Op *op, size_t n)
{
	return n == 2 &&
	       (op[1].atom == DW_OP_form_tls_address || op[1].atom == DW_OP_GNU_push_tls_address) &&
	       (op->atom == DW_OP_const8u || op->atom == DW_OP_const4u ||
		op->atom == DW_OP_constu || op->atom == DW_OP_addr);
}

/* The address of static data; false: it is no place of static data. */
static bool static_place(const struct unit_walk *w, Dwarf_Die *die, uint64_t *start, bool *local)
{
	Dwarf_Attribute attr, real;
	const char *name;
	Dwarf_Addr addr;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr)) {
		/* GCC does not record where AArch64's are */
		name = dwarf_diename(die);
		*local = !dwarf_hasattr(die, DW_AT_declaration);
		return name && (*local ? type_thread_symbol(w->t, name, start)
				       : type_copied(w->t, name, start));
	}
	/* of an expression without operations libdw sets nothing but n */
	if (dwarf_getlocation(&attr, &op, &n) || !n)
		return false;
	*local = is_thread_local(op, n);
	*start = op->number;
	if (*local || (n == 1 && op->atom == DW_OP_addr))
		return true;
	if (n != 1 || (op->atom != DW_OP_addrx && op->atom != DW_OP_GNU_addr_index) ||
	    dwarf_getlocation_attr(&attr, op, &real) || dwarf_formaddr(&real, &addr))
		return false;
	*start = addr;
	return true;
}

static void add_static_variable(const struct unit_walk *w, Dwarf_Die *die)
{
	struct type_static s;
	bool local;

	if (!static_place(w, die, &s.start, &local))
		return;
	s.type = type_of_attr(w->t, die);
	(void)type_target(w->t, s.type); /* of an array: its size */
	s.end = s.start + w->t->type.v[s.type].size;
	if (s.end <= s.start || (!s.start && !local))
		return;
	if (local)
		vec_xpush(&w->t->threads, s);
	else
		vec_xpush(&w->t->statics, s);
}

/* 0: it has no name. */
static uint64_t hash_full_name(Dwarf_Die *die, const char *scope)
{
	const char *name = dwarf_diename(die);

	return name ? hash_pair(hash_bytes(scope, strlen(scope)), hash_bytes(name, strlen(name)))
		    : 0;
}

static void add_definition(struct types *t, Dwarf_Die *die, const char *scope)
{
	struct type_definition d = { .die = *die }, *known;
	uint64_t hash = hash_full_name(die, scope), *at;

	if (!hash || dwarf_hasattr(die, DW_AT_declaration) ||
	    !src_number(die, DW_AT_byte_size, &d.size))
		return;
	at = u64map_xat(&t->by_name, hash, NULL);
	known = *at ? &t->definition.v[*at - 1] : NULL;
	if (known && known->size != d.size)
		known->die.addr = NULL;
	if (known)
		return;
	*at = t->definition.n + 1;
	vec_xpush(&t->definition, d);
}

/* `scope` is the text of the namespaces and classes around: "std::"; anonymous ones are left out.
 */
static void walk_unit(const struct unit_walk *w, Dwarf_Die *parent, const char *scope, int depth)
{
	struct types *t = w->t;
	Dwarf_Die die;

	if (depth >= SRC_MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		const char *name, *inner = scope;
		bool type = tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			    tag == DW_TAG_union_type;

		if (!t->budget)
			return;
		t->budget--;
		if (tag == DW_TAG_variable && w->find == FIND_STATICS)
			add_static_variable(w, &die);
		if (tag == DW_TAG_subprogram && w->find == FIND_FUNCTIONS)
			add_unit_function(w, &die);
		if ((type || tag == DW_TAG_enumeration_type) && *scope)
			*u64map_xat(&t->scope, (uint64_t)(uintptr_t)die.addr, NULL) =
				(uint64_t)(uintptr_t)scope;
		if (type && w->find == FIND_DEFINITIONS)
			add_definition(t, &die, scope);
		if (type || tag == DW_TAG_namespace || tag == DW_TAG_module) {
			name = dwarf_haschildren(&die) ? dwarf_diename(&die) : NULL;
			if (name && depth < TYPES_MAX_NEST)
				inner = arena_xprintf(&t->arena, "%s%.200s::", scope, name);
		} else if (w->find != FIND_STATICS ||
			   (tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block)) {
			continue;
		}
		if (dwarf_haschildren(&die))
			walk_unit(w, &die, inner, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static void walk_units(struct types *t, enum unit_find find)
{
	for (uint32_t i = 0; i < t->source->units.n; i++) {
		const struct unit_walk w = { .t = t, .unit = i, .find = find };
		Dwarf_Die top = src_contents(t->source, &t->source->units.v[i].die);

		walk_unit(&w, &top, "", 0);
	}
}

void type_define(struct types *t, Dwarf_Die *die)
{
	const uint64_t *scope, *at;
	uint64_t hash;

	if (!t->definitions_read) {
		t->definitions_read = true;
		walk_units(t, FIND_DEFINITIONS);
	}
	scope = u64map_find(&t->scope, (uint64_t)(uintptr_t)die->addr);
	hash = hash_full_name(die, scope ? (const char *)(uintptr_t)*scope : "");
	at = hash ? u64map_find(&t->by_name, hash) : NULL;
	if (at && t->definition.v[*at - 1].die.addr)
		*die = t->definition.v[*at - 1].die;
}

void type_functions_read(struct types *t, uint32_t unit)
{
	const struct unit_walk w = { .t = t, .unit = unit, .find = FIND_FUNCTIONS };
	Dwarf_Die top = src_contents(t->source, &t->source->units.v[unit].die);

	walk_unit(&w, &top, "", 0);
}

static int static_by_address(const void *a, const void *b)
{
	const struct type_static *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

void type_statics_read(struct types *t)
{
	size_t n = 0;

	walk_units(t, FIND_STATICS);
	vec_sort(&t->statics, static_by_address);
	vec_sort(&t->threads, static_by_address);
	/* every unit that uses a library's variable declares it */
	for (size_t i = 0; i < t->statics.n; i++)
		if (!n || t->statics.v[n - 1].start != t->statics.v[i].start ||
		    t->statics.v[n - 1].end != t->statics.v[i].end)
			t->statics.v[n++] = t->statics.v[i];
	t->statics.n = n;
}
