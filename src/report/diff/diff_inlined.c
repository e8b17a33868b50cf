/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the compiler made parts of others: clones (f.part.0) by their names, inlined ones
 * by debug information.
 */
#include <string.h>

#include "report/diff/diff_match_int.h"

/* ---- clones ---------------------------------------------------------------------------------- */

/* Returns the length of a name without the suffixes of compilers. */
static size_t stem(const char *name)
{
	static const char *const clone[] = { ".part.", ".cold",	     ".isra.",	".constprop.",
					     ".llvm.", ".lto_priv.", " [clone " };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(clone) / sizeof(*clone); i++) {
		const char *at = strstr(name, clone[i]);

		if (at && at > name && (size_t)(at - name) < len)
			len = (size_t)(at - name);
	}
	return len;
}

/* All functions of a stem, on both sides. */
static void add_clones(struct matching *m, struct diff_match *match, const char *name, size_t len)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];

			if (!strncmp(f->name, name, len) && stem(f->name) == len)
				match_add(m, match, s, f);
		}
}

static bool has_stem(const struct match_file *file, const char *name, size_t len)
{
	for (size_t i = 0; i < file->n; i++)
		if (!strncmp(file->f[i].name, name, len) && stem(file->f[i].name) == len)
			return true;
	return false;
}

void match_clones(struct matching *m)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];
			size_t len = stem(f->name);
			struct diff_match *match;

			if (f->twin || !symbol_has_name(f->symbol) || !match_alone(f) ||
			    !has_stem(&m->of[!s], f->name, len))
				continue;
			match = match_new(m, DIFF_RENAMED, true);
			match->why = "parts and copies that the compiler made, by name";
			add_clones(m, match, f->name, len);
			if (match->n[BASE] != match->n[NEW])
				match->kind =
					match->n[NEW] > match->n[BASE] ? DIFF_SPLIT : DIFF_MERGED;
		}
}

/* ---- inlined --------------------------------------------------------------------------------- */

/* Returns the counterpart on side `s` of `g` of the other side: by name, or renamed. */
static struct match_func *counterpart(struct matching *m, int s, const struct match_func *g)
{
	const struct diff_match *match = g->match;

	if (g->twin)
		return g->twin;
	if (!match || match->kind != DIFF_RENAMED || match->n[BASE] != 1 || match->n[NEW] != 1)
		return NULL;
	return match_named(&m->of[s], match->of[s][0]);
}

/* Returns true if `g` calls `f`, or calls a function that calls `f` and is inlined into `now`, g's
 * counterpart on the other side. Names alone may be those of other functions. */
static bool is_called(struct matching *m, int s, struct match_func *f, struct match_func *g,
		      struct match_func *now)
{
	const struct shape *shape = match_shape(m, s, g);

	if (shape_calls(shape, f->name))
		return true;
	for (size_t i = 0; i < shape->n_callees; i++) {
		struct match_func *h = match_named(&m->of[s], shape->callee[i]);

		if (h && h != f && match_inlines(m, !s, now, h) &&
		    shape_calls(match_shape(m, s, h), f->name))
			return true;
	}
	return false;
}

/* Returns true if `g` of the other side holds code of `f`, and on this side does not, but calls
 * it. */
static bool takes_in(struct matching *m, int s, struct match_func *f, struct match_func *g)
{
	struct match_func *before = counterpart(m, s, g);

	return g->symbol && g->samples > 0 && before && before->symbol && before != f &&
	       match_inlines(m, !s, g, f) && !match_inlines(m, s, before, f) &&
	       is_called(m, s, f, before, g);
}

static void join_inlined(struct matching *m, struct diff_match **to, int s, struct match_func *g)
{
	struct match_func *before = counterpart(m, s, g);
	enum diff_match_kind kind = s == BASE ? DIFF_INLINED : DIFF_UNINLINED;

	if (!*to)
		*to = g->match && g->match->certain ? g->match : match_new(m, kind, true);
	(*to)->kind = kind;
	if (g->match && g->match != *to) {
		match_absorb(m, *to, g->match);
		return;
	}
	match_add(m, *to, !s, g);
	match_add(m, *to, s, before);
}

/* The functions of the other side that have `f` of side `s` in them. */
static void match_inlined_one(struct matching *m, int s, struct match_func *f)
{
	struct diff_match *match = NULL;

	for (size_t i = 0; i < m->of[!s].n; i++)
		if (takes_in(m, s, f, &m->of[!s].f[i]))
			join_inlined(m, &match, s, &m->of[!s].f[i]);
	if (!match)
		return;
	match->why = "debug information; their sum is compared";
	match_add(m, match, s, f);
	if (f->twin)
		match_add(m, match, !s, f->twin);
}

void match_inlined(struct matching *m)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++)
			if (match_alone(&m->of[s].f[i]))
				match_inlined_one(m, s, &m->of[s].f[i]);
}
