/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_units - what units have at their outer levels: functions by address, static variables, and
 * the namespaces that types are in.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/types/types_int.h"

struct walk {
	struct types *t;
	uint32_t unit;
	bool functions, statics, definitions;
};

static int add_function(const struct walk *w, Dwarf_Die *die)
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
		if (lo < hi && src_is_code(t->source, lo) && vec_push(&t->own, r))
			return -1;
	}
	if (t->own.n == before)
		return 0;
	f = arena_alloc(&t->arena, sizeof(*f));
	if (!f)
		return -1;
	f->unit = w->unit;
	f->first_range = before;
	f->n_ranges = t->own.n - before;
	f->die = *die;
	return vec_push(&t->function, f);
}

/* An offset in the block of thread-local variables, and what makes an address of it. */
static bool is_thread_local(const Dwarf_Op *op, size_t n)
{
	return n == 2 &&
	       (op[1].atom == DW_OP_form_tls_address || op[1].atom == DW_OP_GNU_push_tls_address) &&
	       (op->atom == DW_OP_const8u || op->atom == DW_OP_const4u ||
		op->atom == DW_OP_constu || op->atom == DW_OP_addr);
}

/* Of what has a location: false: it is no place of static data. */
static bool place_of(const struct walk *w, Dwarf_Die *die, uint64_t *start, bool *local)
{
	Dwarf_Attribute attr, real;
	const char *name;
	Dwarf_Addr addr;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr)) {
		/* GCC does not say where AArch64's are */
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

static int add_static(const struct walk *w, Dwarf_Die *die)
{
	struct type_static s;
	bool local;

	if (!place_of(w, die, &s.start, &local))
		return 0;
	s.type = type_of_attr(w->t, die);
	if (s.type == TYPE_NONE)
		return -1;
	(void)type_target(w->t, s.type); /* of an array: its size */
	s.end = s.start + w->t->type.v[s.type].size;
	if (s.end <= s.start || (!s.start && !local))
		return 0;
	return local ? vec_push(&w->t->threads, s) : vec_push(&w->t->statics, s);
}

static int walk(const struct walk *w, Dwarf_Die *parent, const char *scope, int depth);

/* The text of what is in a namespace or a class: "std::"; names of anonymous ones are left out. */
static int enter(const struct walk *w, Dwarf_Die *die, const char *scope, int depth)
{
	const char *name = dwarf_diename(die);
	struct types *t = w->t;

	if (name && depth < TYPES_MAX_NEST) {
		scope = arena_printf(&t->arena, "%s%.200s::", scope, name);
		if (!scope)
			return -1;
	}
	return walk(w, die, scope, depth + 1);
}

static int note_scope(const struct walk *w, const Dwarf_Die *die, const char *scope)
{
	uint64_t *at;

	if (!*scope)
		return 0;
	at = u64map_at(&w->t->scope, (uint64_t)(uintptr_t)die->addr, NULL);
	if (!at)
		return -1;
	*at = (uint64_t)(uintptr_t)scope;
	return 0;
}

/* 0: it has no name. */
static uint64_t hash_of(Dwarf_Die *die, const char *scope)
{
	const char *name = dwarf_diename(die);

	return name ? hash_pair(hash_bytes(scope, strlen(scope)), hash_bytes(name, strlen(name)))
		    : 0;
}

static int add_definition(const struct walk *w, Dwarf_Die *die, const char *scope)
{
	struct type_definition d = { .die = *die }, *known;
	uint64_t hash = hash_of(die, scope), *at;
	Dwarf_Attribute attr;
	Dwarf_Word size;

	if (!hash || dwarf_hasattr(die, DW_AT_declaration) ||
	    !dwarf_attr(die, DW_AT_byte_size, &attr) || dwarf_formudata(&attr, &size))
		return 0;
	d.size = size;
	at = u64map_at(&w->t->by_name, hash, NULL);
	if (!at)
		return -1;
	known = *at ? &w->t->definition.v[*at - 1] : NULL;
	if (known && known->size != size)
		known->die.addr = NULL;
	if (known)
		return 0;
	*at = w->t->definition.n + 1;
	return vec_push(&w->t->definition, d);
}

static int visit(const struct walk *w, Dwarf_Die *die, const char *scope, int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		if (w->functions && add_function(w, die))
			return -1;
		return w->statics && dwarf_haschildren(die) ? walk(w, die, scope, depth + 1) : 0;
	case DW_TAG_lexical_block:
		return w->statics ? walk(w, die, scope, depth + 1) : 0;
	case DW_TAG_variable:
		return w->statics ? add_static(w, die) : 0;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (note_scope(w, die, scope) || (w->definitions && add_definition(w, die, scope)))
			return -1;
		return dwarf_haschildren(die) ? enter(w, die, scope, depth) : 0;
	case DW_TAG_enumeration_type:
		return note_scope(w, die, scope);
	case DW_TAG_namespace:
	case DW_TAG_module:
		return enter(w, die, scope, depth);
	default:
		return 0;
	}
}

static int walk(const struct walk *w, Dwarf_Die *parent, const char *scope, int depth)
{
	Dwarf_Die die;

	if (depth >= SRC_MAX_DEPTH || dwarf_child(parent, &die))
		return 0;
	do {
		if (!w->t->budget)
			return 0;
		w->t->budget--;
		if (visit(w, &die, scope, depth))
			return -1;
	} while (!dwarf_siblingof(&die, &die));
	return 0;
}

static int definitions_read(struct types *t)
{
	for (uint32_t i = 0; i < t->source->units.n; i++) {
		const struct walk w = { .t = t, .unit = i, .definitions = true };
		Dwarf_Die top = src_contents(t->source, &t->source->units.v[i].die);

		if (walk(&w, &top, "", 0))
			return -1;
	}
	return 0;
}

void type_define(struct types *t, Dwarf_Die *die)
{
	const uint64_t *scope, *at;
	uint64_t hash;

	if (!t->definitions_read) {
		t->definitions_read = true;
		t->nomem |= definitions_read(t) != 0;
	}
	scope = u64map_find(&t->scope, (uint64_t)(uintptr_t)die->addr);
	hash = hash_of(die, scope ? (const char *)(uintptr_t)*scope : "");
	at = hash ? u64map_find(&t->by_name, hash) : NULL;
	if (at && t->definition.v[*at - 1].die.addr)
		*die = t->definition.v[*at - 1].die;
}

int type_functions_read(struct types *t, uint32_t unit)
{
	const struct walk w = { .t = t, .unit = unit, .functions = true };
	Dwarf_Die top = src_contents(t->source, &t->source->units.v[unit].die);

	return walk(&w, &top, "", 0);
}

/* Every unit that uses a library's variable declares it. */
static void drop_doubles(struct types *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->statics.n; i++)
		if (!n || t->statics.v[n - 1].start != t->statics.v[i].start ||
		    t->statics.v[n - 1].end != t->statics.v[i].end)
			t->statics.v[n++] = t->statics.v[i];
	t->statics.n = n;
}

static int by_address(const void *a, const void *b)
{
	const struct type_static *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

int type_statics_read(struct types *t)
{
	for (uint32_t i = 0; i < t->source->units.n; i++) {
		const struct walk w = { .t = t, .unit = i, .statics = true };
		Dwarf_Die top = src_contents(t->source, &t->source->units.v[i].die);

		if (walk(&w, &top, "", 0))
			return -1;
	}
	vec_sort(&t->statics, by_address);
	drop_doubles(t);
	vec_sort(&t->threads, by_address);
	return 0;
}
