/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that are parts of others by what the compiler says of them: clones (f.part.0) by their
 * names, inlined ones by debug information.
 */
#include <string.h>

#include "report/diff/diff_match_int.h"

/* ---- clones ---------------------------------------------------------------------------------- */

/* The length of a name without what compilers append. */
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
static int add_clones(struct matching *m, struct diff_match *match, const char *name, size_t len,
		      struct err *err)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];

			if (!strncmp(f->name, name, len) && stem(f->name) == len &&
			    match_add(m, match, s, f, err))
				return -1;
		}
	return 0;
}

static bool has_stem(const struct match_file *file, const char *name, size_t len)
{
	for (size_t i = 0; i < file->n; i++)
		if (!strncmp(file->f[i].name, name, len) && stem(file->f[i].name) == len)
			return true;
	return false;
}

int match_clones(struct matching *m, struct err *err)
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
			if (!match)
				return err_nomem(err);
			match->why = "parts and copies that the compiler made, by name";
			if (add_clones(m, match, f->name, len, err))
				return -1;
			if (match->n[BASE] != match->n[NEW])
				match->kind =
					match->n[NEW] > match->n[BASE] ? DIFF_SPLIT : DIFF_MERGED;
		}
	return 0;
}

/* ---- inlined --------------------------------------------------------------------------------- */

/* The same function on side `s`, which `g` of the other side is: by name, or renamed. */
static struct match_func *counterpart(struct matching *m, int s, const struct match_func *g)
{
	const struct diff_match *match = g->match;

	if (g->twin)
		return g->twin;
	if (!match || match->kind != DIFF_RENAMED || match->n[BASE] != 1 || match->n[NEW] != 1)
		return NULL;
	return match_named(&m->of[s], match->of[s][0]);
}

/* `f` is called by `g`, or by what is called by it no longer, too, as it is in `now`, g's like of
 * the other side. Names alone may be those of other functions. */
static int is_called(struct matching *m, int s, struct match_func *f, struct match_func *g,
		     struct match_func *now, struct err *err)
{
	const struct shape *shape = match_shape(m, s, g, err);

	if (!shape)
		return -1;
	if (shape_calls(shape, f->name))
		return 1;
	for (size_t i = 0; i < shape->n_callees; i++) {
		struct match_func *h = match_named(&m->of[s], shape->callee[i]);
		int in = h && h != f ? match_inlines(m, !s, now, h, err) : 0;
		const struct shape *between = in > 0 ? match_shape(m, s, h, err) : NULL;

		if (in < 0 || (in > 0 && !between))
			return -1;
		if (in > 0 && shape_calls(between, f->name))
			return 1;
	}
	return 0;
}

/* 1: `g` of the other side holds code of `f`; on this side it does not, and calls it. */
static int takes_in(struct matching *m, int s, struct match_func *f, struct match_func *g,
		    struct err *err)
{
	struct match_func *before = counterpart(m, s, g);
	int in;

	if (!g->symbol || !(g->samples > 0) || !before || !before->symbol || before == f)
		return 0;
	in = match_inlines(m, !s, g, f, err);
	if (in <= 0)
		return in;
	in = match_inlines(m, s, before, f, err);
	return in ? (in < 0 ? -1 : 0) : is_called(m, s, f, before, g, err);
}

static int join(struct matching *m, struct diff_match **to, int s, struct match_func *g,
		struct err *err)
{
	struct match_func *before = counterpart(m, s, g);
	enum diff_match_kind kind = s == BASE ? DIFF_INLINED : DIFF_UNINLINED;

	if (!*to)
		*to = g->match && g->match->certain ? g->match : match_new(m, kind, true);
	if (!*to)
		return err_nomem(err);
	(*to)->kind = kind;
	if (g->match && g->match != *to)
		return match_absorb(m, *to, g->match, err);
	return match_add(m, *to, !s, g, err) || match_add(m, *to, s, before, err) ? -1 : 0;
}

/* The functions of the other side that have `f` of side `s` in them. */
static int match_inlined_one(struct matching *m, int s, struct match_func *f, struct err *err)
{
	struct diff_match *match = NULL;

	for (size_t i = 0; i < m->of[!s].n; i++) {
		int in = takes_in(m, s, f, &m->of[!s].f[i], err);

		if (in < 0 || (in > 0 && join(m, &match, s, &m->of[!s].f[i], err)))
			return -1;
	}
	if (!match)
		return 0;
	match->why = "debug information; their sum is compared";
	if (match_add(m, match, s, f, err))
		return -1;
	return f->twin ? match_add(m, match, !s, f->twin, err) : 0;
}

int match_inlined(struct matching *m, struct err *err)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++)
			if (match_alone(&m->of[s].f[i]) &&
			    match_inlined_one(m, s, &m->of[s].f[i], err))
				return -1;
	return 0;
}
