/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that were matched by their code, as rows and as names.
 */
#include "base/xalloc.h"
#include "report/diff/diff_columns.h"

enum { BASE, NEW };

const char *const diff_match_kinds[] = { "renamed",	      "file renamed", "inlined",
					 "no longer inlined", "split",	      "merged" };

static const char *put_match_names(struct arena *a, const struct diff_match *m, int s)
{
	const char *all = m->of[s][0];

	for (size_t i = 1; all && i < m->n[s]; i++)
		all = arena_xprintf(a, "%s + %s", all, m->of[s][i]);
	return all;
}

const char *diff_function_name(struct arena *a, const struct diff_item *it)
{
	const struct diff_match *m = it->match;
	const char *base, *new;

	if (!m || (!m->certain && it->key[2]))
		return it->key[2];
	base = put_match_names(a, m, BASE);
	new = put_match_names(a, m, NEW);
	return base && new ? arena_xprintf(a, "%s -> %s", base, new) : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct diff_match *match_of(const struct table_row *r)
{
	return *(struct diff_match *const *)r->p;
}

TABLE_CELL(match_side, const struct diff *x = t->ctx; out->text = x->side[match_of(r)->side].name)

TABLE_GET(match_names)
{
	out->list = match_of(r)->of[c->which];
	out->n_list = match_of(r)->n[c->which];
}

TABLE_CELL(match_kind, out->text = diff_match_kinds[match_of(r)->kind])
TABLE_CELL(match_certain, out->n = match_of(r)->certain)
TABLE_CELL(match_dso, out->text = match_of(r)->dso)
TABLE_CELL(match_alike, out->e.v = match_of(r)->alike)
TABLE_CELL(match_why, out->text = match_of(r)->why)

TABLE_GET(match_shown)
{
	struct diff_match *m = match_of(r);
	const struct diff_item it = { .match = m };
	struct arena a = ARENA_INIT;
	const char *name = diff_function_name(&a, &it);

	if (name)
		cell_printf(out, "%s%s: %s", diff_match_kinds[m->kind], m->certain ? "" : "?",
			    name);
	arena_free(&a);
}

static const struct table_column match_columns[] = {
	COLUMN("side", "side", T_TEXT, C_KEY | C_DATA, "the new side", .get = match_side),
	COLUMN("dso", "dso", T_TEXT, C_KEY | C_DATA, "the file of the code", .get = match_dso),
	COLUMN("match", "match", T_TEXT, C_DATA,
	       "renamed, inlined, no longer inlined, split, merged, file renamed",
	       .get = match_kind),
	COLUMN("certain", "certain", T_FLAG, C_DATA, "else nothing is joined",
	       .get = match_certain),
	COLUMN("base_functions", "base", T_LIST, C_KEY | C_DATA, "in the base", .get = match_names,
	       .which = 0),
	COLUMN("new_functions", "new", T_LIST, C_KEY | C_DATA, "on the new side",
	       .get = match_names, .which = 1),
	COLUMN("match_shown", "matched", T_TEXT, C_PEOPLE | C_FLEX, "", .get = match_shown),
	COLUMN("alike", "alike", T_SHARE, C_DATA, "of their code; empty: not compared",
	       .get = match_alike),
	COLUMN("why", "by", T_TEXT, C_FLEX | C_CUT, "what speaks for it, and against",
	       .get = match_why),
};
const struct table_form diff_matches_form = { "matches", NULL, 0, TABLE_COLUMNS(match_columns),
					      .rest = "match" };
