/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_inlines - the functions and inlined calls of one unit as disjoint address segments.
 *
 * Walks the unit's tree of scopes; each DW_TAG_inlined_subroutine becomes a src_call that knows the
 * call around it, and one interval for each of its address ranges; a function does likewise. What
 * cannot hold code is not entered.
 */
#include <dwarf.h>

#include "symbol/demangle.h"
#include "symbol/dwarf/source_tables.h"

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

struct walk {
	struct source *s;
	struct src_call_tab *t;
	src_intervals iv, functions;
	size_t budget; /* intervals that are still believed */
};

static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_entry_point:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

/* A mangled name as people write it, in the arena. */
static const char *shown_name(struct source *s, const char *linkage)
{
	return s->raw_names ? arena_strdup(&s->arena, linkage) : demangle(&s->arena, linkage);
}

static uint32_t attr_u32(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &v) || v > UINT32_MAX - 1)
		return 0;
	return (uint32_t)v;
}

/* What the function is called that a DIE stands for: along its abstract origins and specifications,
 * which may form a cycle in a broken file. */
static int find_name(struct source *s, const Dwarf_Die *from, struct src_name *out)
{
	Dwarf_Die die = *from;
	const char *plain = NULL, *linkage = NULL;

	for (int i = 0; i < SRC_MAX_CHAIN; i++) {
		Dwarf_Attribute attr;

		if (!linkage && (dwarf_attr(&die, DW_AT_linkage_name, &attr) ||
				 dwarf_attr(&die, DW_AT_MIPS_linkage_name, &attr)))
			linkage = dwarf_formstring(&attr);
		if (linkage && !*linkage)
			linkage = NULL;
		if (!plain && dwarf_attr(&die, DW_AT_name, &attr))
			plain = dwarf_formstring(&attr);
		if (!out->first_line)
			out->first_line = attr_u32(&die, DW_AT_decl_line);
		if (!out->file_die.addr && dwarf_hasattr(&die, DW_AT_decl_file)) {
			out->file = attr_u32(&die, DW_AT_decl_file);
			out->file_die = die;
		}
		out->external |= dwarf_hasattr(&die, DW_AT_external);
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(&die, DW_AT_specification, &attr))
			break;
		if (!dwarf_formref_die(&attr, &die))
			break;
	}
	out->shown = "[unknown]";
	if (linkage)
		out->shown = shown_name(s, linkage);
	else if (plain)
		out->shown = arena_strdup(&s->arena, plain);
	out->linkage = linkage ? linkage : out->shown; /* libdw's memory */
	return out->shown ? 0 : -1;
}

static struct src_name *name_of(struct source *s, const Dwarf_Die *die)
{
	struct src_name *name;
	uint64_t *at;
	bool fresh;

	at = u64map_at(&s->names, (uint64_t)(uintptr_t)die->addr, &fresh);
	if (!at)
		return NULL;
	if (fresh || !*at) {
		name = arena_alloc(&s->arena, sizeof(*name));
		if (!name)
			return NULL;
		memset(name, 0, sizeof(*name));
		if (find_name(s, die, name))
			return NULL;
		*at = (uint64_t)(uintptr_t)name;
	}
	return (struct src_name *)(uintptr_t)*at;
}

static struct src_name *call_name(struct source *s, Dwarf_Die *die)
{
	static struct src_name unknown = { .shown = "[unknown]", .linkage = "[unknown]" };
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin))
		return &unknown;
	return name_of(s, &origin);
}

static bool has_attr(Dwarf_Die *die, unsigned name)
{
	return dwarf_hasattr(die, name);
}

/* Where the code of a scope lies. */
static int add_ranges(struct walk *w, Dwarf_Die *die, src_intervals *to, uint32_t depth,
		      uint32_t id)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while (w->budget && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		struct src_interval iv = { lo, hi, depth, id };

		w->budget--;
		if (lo >= hi || !src_is_code(w->s, lo))
			continue;
		if (vec_push(to, iv))
			return -1;
	}
	return 0;
}

/* Adds the inlined call at `die`; *id is what its children hang under. */
static int add_call(struct walk *w, Dwarf_Die *die, uint32_t depth, uint32_t parent, uint32_t *id)
{
	struct src_call call = { NULL, SRC_NONE, 0, 0, parent };

	*id = (uint32_t)w->t->calls.n;
	call.name = call_name(w->s, die);
	if (!call.name)
		return -1;
	call.line = attr_u32(die, DW_AT_call_line);
	call.discriminator = attr_u32(die, DW_AT_GNU_discriminator);
	if (has_attr(die, DW_AT_call_file))
		call.file = attr_u32(die, DW_AT_call_file);
	if (vec_push(&w->t->calls, call))
		return -1;
	return add_ranges(w, die, &w->iv, depth, *id);
}

/* A function that has code of its own. */
static int add_function(struct walk *w, Dwarf_Die *die, unsigned level)
{
	size_t before = w->functions.n;
	struct src_name *name;

	if (add_ranges(w, die, &w->functions, level, (uint32_t)w->t->functions.n))
		return -1;
	if (w->functions.n == before)
		return 0;
	name = name_of(w->s, die);
	return name ? vec_push(&w->t->functions, name) : -1;
}

static int walk_children(struct walk *w, Dwarf_Die *parent, unsigned level, uint32_t depth,
			 uint32_t call)
{
	Dwarf_Die die;

	if (level >= SRC_MAX_DEPTH || dwarf_child(parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);
		uint32_t at = call, inner = depth;

		if (!is_scope(tag))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			inner = depth + 1;
			if (add_call(w, &die, inner, call, &at))
				return -1;
		} else if (tag == DW_TAG_subprogram) {
			inner = 0; /* a function inside a function is not inlined there */
			at = SRC_NONE;
			if (add_function(w, &die, level))
				return -1;
		}
		if (dwarf_haschildren(&die) && walk_children(w, &die, level + 1, inner, at))
			return -1;
	} while (w->budget && !dwarf_siblingof(&die, &die));
	return 0;
}

void src_inlines_free(struct src_call_tab *t)
{
	if (!t)
		return;
	vec_free(&t->calls);
	vec_free(&t->inl);
	vec_free(&t->functions);
	vec_free(&t->code);
	free(t);
}

struct src_call_tab *src_read_inlines(struct source *s, Dwarf_Die *unit)
{
	struct src_call_tab *t = calloc(1, sizeof(*t));
	struct walk w = { .s = s, .t = t, .iv = VEC_INIT, .budget = s->file_size + 4096 };
	Dwarf_Die top = src_contents(s, unit);

	if (t && (walk_children(&w, &top, 0, 0, SRC_NONE) || src_flatten(&w.iv, &t->inl) ||
		  src_flatten(&w.functions, &t->code))) {
		src_inlines_free(t);
		t = NULL;
	}
	vec_free(&w.iv);
	vec_free(&w.functions);
	return t;
}

void src_files_free(struct src_file_tab *t)
{
	if (!t)
		return;
	vec_free(&t->files);
	free(t);
}

/* libdw runs the unit's line program for this. */
struct src_file_tab *src_read_files(struct source *s, Dwarf_Die *unit)
{
	struct src_file_tab *t = calloc(1, sizeof(*t));
	Dwarf_Die top = src_contents(s, unit);
	Dwarf_Files *files;
	size_t n;

	if (!t || (dwarf_getsrcfiles(&top, &files, &n) && dwarf_getsrcfiles(unit, &files, &n)))
		return t;
	if (!src_name_files(s, unit, files, n, &t->files))
		return t;
	src_files_free(t);
	return NULL;
}
