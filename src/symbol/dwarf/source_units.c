/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_units - the functions and inlined calls of one unit as disjoint address segments, and its
 * line program as sorted rows.
 *
 * Walks the unit's tree of scopes; each DW_TAG_inlined_subroutine becomes a src_call that knows the
 * call around it, and one interval for each of its address ranges; a function does likewise. Scopes
 * without code are not entered.
 */
#include <dwarf.h>

#include "base/xalloc.h"
#include "symbol/demangle.h"
#include "symbol/dwarf/source_tables.h"

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

struct call_walk {
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

static uint32_t number_or_0(Dwarf_Die *die, unsigned name)
{
	uint64_t v;

	return src_number(die, name, &v) && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* The name of a DIE's function: along its abstract origins and specifications,
 * which may form a cycle in a broken file. */
static void read_function_name(struct source *s, const Dwarf_Die *from, struct src_name *out)
{
	Dwarf_Die die = *from;
	const char *plain = NULL, *linkage = NULL;

	for (int i = 0; i < SRC_MAX_CHAIN; i++) {
		Dwarf_Attribute attr;

		if (!linkage)
			linkage = src_text(&die, DW_AT_linkage_name);
		if (!linkage)
			linkage = src_text(&die, DW_AT_MIPS_linkage_name);
		if (linkage && !*linkage)
			linkage = NULL;
		if (!plain)
			plain = src_text(&die, DW_AT_name);
		if (!out->first_line)
			out->first_line = number_or_0(&die, DW_AT_decl_line);
		if (!out->file_die.addr && dwarf_hasattr(&die, DW_AT_decl_file)) {
			out->file = number_or_0(&die, DW_AT_decl_file);
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
	if (linkage && !s->raw_names)
		out->shown = demangle(&s->arena, linkage);
	else if (linkage || plain)
		out->shown = arena_xstrdup(&s->arena, linkage ? linkage : plain);
	out->linkage = linkage ? linkage : out->shown; /* libdw's memory */
}

static struct src_name *function_name(struct source *s, const Dwarf_Die *die)
{
	struct src_name *name;
	uint64_t *at;
	bool fresh;

	at = u64map_xat(&s->names, (uint64_t)(uintptr_t)die->addr, &fresh);
	if (fresh) {
		name = arena_xalloc(&s->arena, sizeof(*name));
		read_function_name(s, die, name);
		*at = (uint64_t)(uintptr_t)name;
	}
	return (struct src_name *)(uintptr_t)*at;
}

/* Where the code of a scope lies. */
static void add_ranges(struct call_walk *w, Dwarf_Die *die, src_intervals *to, uint32_t depth,
		       uint32_t id)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while (w->budget && (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		struct src_interval iv = { lo, hi, depth, id };

		w->budget--;
		if (lo >= hi || !src_is_code(w->s, lo))
			continue;
		vec_xpush(to, iv);
	}
}

/* Adds the inlined call at `die`; returns its number, which its children hang under. */
static uint32_t add_inlined_call(struct call_walk *w, Dwarf_Die *die, uint32_t depth,
				 uint32_t parent)
{
	static struct src_name unknown = { .shown = "[unknown]", .linkage = "[unknown]" };
	struct src_call call = { .name = &unknown,
				 .file = SRC_NONE,
				 .line = number_or_0(die, DW_AT_call_line),
				 .discriminator = number_or_0(die, DW_AT_GNU_discriminator),
				 .parent = parent };
	uint32_t id = (uint32_t)w->t->calls.n;
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attr) && dwarf_formref_die(&attr, &origin))
		call.name = function_name(w->s, &origin);
	if (dwarf_hasattr(die, DW_AT_call_file))
		call.file = number_or_0(die, DW_AT_call_file);
	vec_xpush(&w->t->calls, call);
	add_ranges(w, die, &w->iv, depth, id);
	return id;
}

static void walk_children(struct call_walk *w, Dwarf_Die *parent, unsigned level, uint32_t depth,
			  uint32_t call)
{
	Dwarf_Die die;

	if (level >= SRC_MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		uint32_t at = call, inner = depth;
		size_t before = w->functions.n;

		if (!is_scope(tag))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			inner = depth + 1;
			at = add_inlined_call(w, &die, inner, call);
		} else if (tag == DW_TAG_subprogram) {
			inner = 0; /* a function inside a function is not inlined there */
			at = SRC_NONE;
			add_ranges(w, &die, &w->functions, level, (uint32_t)w->t->functions.n);
			if (w->functions.n != before) /* it has code of its own */
				vec_xpush(&w->t->functions, function_name(w->s, &die));
		}
		if (dwarf_haschildren(&die))
			walk_children(w, &die, level + 1, inner, at);
	} while (w->budget && !dwarf_siblingof(&die, &die));
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
	struct src_call_tab *t = xcalloc(1, sizeof(*t));
	struct call_walk w = { .s = s, .t = t, .budget = s->file_size + 4096 };
	Dwarf_Die top = src_contents(s, unit);

	walk_children(&w, &top, 0, 0, SRC_NONE);
	src_flatten(&w.iv, &t->inl);
	src_flatten(&w.functions, &t->code);
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
	struct src_file_tab *t = xcalloc(1, sizeof(*t));
	Dwarf_Die top = src_contents(s, unit);
	Dwarf_Files *files;
	size_t n;

	if (!dwarf_getsrcfiles(&top, &files, &n) || !dwarf_getsrcfiles(unit, &files, &n))
		src_name_files(s, unit, files, n, &t->files);
	return t;
}

/* ---- lines -------------------------------------------------------------------------------------
 *
 * libdw runs the program and sorts its rows by address, an end of sequence before a start at the
 * same place. If several rows have one address, the last is kept: the instruction belongs to it. */

static void add_line_row(struct src_line_tab *t, Dwarf_Line *line)
{
	struct src_row row = { 0, SRC_NONE, 0, 0 };
	unsigned discriminator = 0;
	Dwarf_Files *files;
	bool end = false;
	size_t file;
	int no = 0;

	if (dwarf_lineaddr(line, &row.addr) || dwarf_lineendsequence(line, &end))
		return;
	if (!end) {
		if (dwarf_line_file(line, &files, &file) || file >= SRC_NONE ||
		    dwarf_lineno(line, &no))
			return;
		row.file = (uint32_t)file;
		row.line = no > 0 ? (uint32_t)no : 0;
		if (!dwarf_linediscriminator(line, &discriminator))
			row.discriminator = discriminator;
	}
	if (t->rows.n) {
		struct src_row *last = vec_last(&t->rows);

		if (last->addr == row.addr) {
			*last = row;
			return;
		}
		if (last->file == row.file && last->line == row.line &&
		    last->discriminator == row.discriminator)
			return;
	}
	vec_xpush(&t->rows, row);
}

void src_lines_free(struct src_line_tab *t)
{
	if (!t)
		return;
	vec_free(&t->rows);
	vec_free(&t->files);
	free(t);
}

struct src_line_tab *src_read_lines(struct source *s, Dwarf_Die *unit)
{
	struct src_line_tab *t = xcalloc(1, sizeof(*t));
	Dwarf_Lines *lines = NULL;
	Dwarf_Files *files;
	size_t n = 0, n_files;

	if (dwarf_getsrclines(unit, &lines, &n))
		return t;
	if (!dwarf_getsrcfiles(unit, &files, &n_files)) {
		src_name_files(s, unit, files, n_files, &t->files);
		src_sum_files(s, unit, &t->files);
	}
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		bool end = false;

		if (!line || dwarf_lineaddr(line, &addr) || dwarf_lineendsequence(line, &end))
			continue;
		if (end || src_is_code(s, addr))
			add_line_row(t, line);
	}
	return t;
}
