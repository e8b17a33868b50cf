/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that only one side has samples in, and the file of the other side that is most like them: a
 * program or a library that got another name. Those of one build-id are the same. Else most of the
 * samples of both must be in functions that the other one has, too: of the same name and much the
 * same code, or of exactly the same code.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/diff_match_int.h"

enum { MOST_FILES = 16, MOST_LOOKED_FOR = 32, LEAST_INSNS = 10 };

/* Of a pair's samples: enough to join it, and to mention it. */
static const double ENOUGH = 0.5, PERHAPS = 0.2, MARGIN = 0.15;
static const double SAME_NAME_ALIKE = 0.6;

struct file {
	const char *dso;
	double samples;
	struct match_file code;
	bool paired;
};

struct files {
	struct diff *x;
	size_t side;
	struct file of[BOTH][MOST_FILES];
	size_t n[BOTH];
	struct matching m; /* its files are those that are compared just now */
};

const char *diff_file_new(const struct diff *x, size_t side, const char *dso)
{
	vec_each (&x->file, const struct diff_file *, f)
		if (f->side == side && f->certain && !strcmp(f->base, dso))
			return f->new;
	return dso;
}

const char *diff_file_base(const struct diff *x, size_t side, const char *dso)
{
	vec_each (&x->file, const struct diff_file *, f)
		if (f->side == side && f->certain && !strcmp(f->new, dso))
			return f->base;
	return dso;
}

/* ---- the files ------------------------------------------------------------------------------- */

static const struct diff_side *side_of(const struct files *all, int s)
{
	return &all->x->side[s == BASE ? 0 : all->side];
}

/* Calls `fn` for each function of a side. */
static int each_row(struct files *all, int s,
		    int (*fn)(struct files *all, int s, const char *dso, const char *function,
			      double samples, void *ctx),
		    void *ctx, struct err *err)
{
	const struct diff_side *side = side_of(all, s);
	struct arena a = ARENA_INIT;
	int rc = 0;

	for (size_t i = 0; !rc && i < side->n; i++) {
		const struct table *t = diff_find(&side->run[i], "rows");
		size_t dso = t ? diff_column(t, "dso") : 0;
		size_t function = t ? diff_column(t, "function") : 0;
		size_t samples = t ? diff_column(t, "samples") : 0;
		struct table_row row = { 0 };

		while (!rc && t && table_next(t, &row)) {
			const char *file = diff_text(&a, t, dso, &row);
			const char *name = diff_text(&a, t, function, &row);

			rc = !file || !name ||
			     fn(all, s, file, name, diff_number(t, samples, &row).v, ctx);
			arena_reset(&a);
		}
	}
	arena_free(&a);
	return rc ? err_nomem(err) : 0;
}

struct named { /* files of a side */
	struct strtab name;
	VEC(double) samples; /* by id; 0: taken */
};

static int add_name(struct files *all, int s, const char *dso, const char *function, double samples,
		    void *ctx)
{
	struct named *to = ctx;
	uint32_t id;

	(void)all;
	(void)s;
	(void)function;
	if (*dso == '[' || !(samples > 0))
		return 0;
	id = strtab_adds(&to->name, dso);
	if (id == STR_NONE)
		return -1;
	while (to->samples.n <= id)
		if (vec_push(&to->samples, 0))
			return -1;
	to->samples.v[id] += samples;
	return 0;
}

/* The file with most samples of those that `other` has not; 0: there is none any more. */
static uint32_t take_largest(struct named *mine, const struct named *other)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < mine->samples.n; i++)
		if (mine->samples.v[i] > 0 &&
		    (!best || mine->samples.v[i] > mine->samples.v[best]) &&
		    strtab_find(&other->name, strtab_get(&mine->name, i)) == STR_NONE)
			best = i;
	if (best)
		mine->samples.v[best] = 0;
	return best;
}

static struct file *file_named(struct files *all, int s, const char *dso)
{
	for (size_t i = 0; i < all->n[s]; i++)
		if (!strcmp(all->of[s][i].dso, dso))
			return &all->of[s][i];
	return NULL;
}

static int add_samples(struct files *all, int s, const char *dso, const char *function,
		       double samples, void *ctx)
{
	struct file *file = file_named(all, s, dso);
	struct match_func *f = file ? match_named(&file->code, function) : NULL;

	(void)ctx;
	if (file && samples > 0)
		file->samples += samples;
	if (f && samples > 0)
		f->samples += samples;
	return 0;
}

static int add_files(struct files *all, int s, struct named *mine, const struct named *other,
		     struct err *err)
{
	uint32_t id;

	while (all->n[s] < MOST_FILES && (id = take_largest(mine, other))) {
		struct file *file = &all->of[s][all->n[s]++];

		*file = (struct file){ .dso = arena_strdup(&all->x->a,
							   strtab_get(&mine->name, id)) };
		if (!file->dso)
			return err_nomem(err);
	}
	return 0;
}

/* Their functions, with samples. */
static int read_files(struct files *all, struct err *err)
{
	for (int s = 0; s < BOTH; s++) {
		for (size_t i = 0; i < all->n[s]; i++)
			if (match_open_file(&all->of[s][i].code, side_of(all, s), all->of[s][i].dso,
					    err))
				return -1;
		if (each_row(all, s, add_samples, NULL, err))
			return -1;
	}
	return 0;
}

/* ---- likeness -------------------------------------------------------------------------------- */

/* 1: they are. -1: no memory. */
static int are_alike(struct matching *m, int s, struct match_func *f, struct match_func *g,
		     struct err *err)
{
	const struct shape *a = match_shape(m, s, f, err);
	const struct shape *b = a ? match_shape(m, !s, g, err) : NULL;

	if (!b)
		return -1;
	if (!a->insns || !b->insns) /* nothing decodes it; every program has some of these */
		return *f->name != '_' && strcmp(f->name, "main") != 0;
	if (a->insns < LEAST_INSNS && b->insns < LEAST_INSNS)
		return 1;
	return shape_alike(a, b) >= SAME_NAME_ALIKE;
}

/* Some function of the other file has exactly this code. 1, 0; -1: no memory. */
static int has_code(struct matching *m, int s, struct match_func *f, struct err *err)
{
	const struct shape *mine = match_shape(m, s, f, err);
	struct match_file *other = &m->of[!s];

	if (!mine)
		return -1;
	for (size_t i = 0; mine->insns >= LEAST_INSNS && i < other->n; i++) {
		const struct shape *theirs;

		if (!other->f[i].symbol || other->f[i].symbol->size > 2 * f->symbol->size ||
		    f->symbol->size > 2 * other->f[i].symbol->size)
			continue;
		theirs = match_shape(m, !s, &other->f[i], err);
		if (!theirs)
			return -1;
		if (theirs->insns == mine->insns && theirs->code == mine->code)
			return 1;
	}
	return 0;
}

/* 1: the other file has the function. -1: no memory. */
static int has_function(struct matching *m, int s, struct match_func *f, size_t *looked_for,
			struct err *err)
{
	struct match_func *g = f->symbol->nameless ? NULL : match_named(&m->of[!s], f->name);
	int is = g && g->symbol ? are_alike(m, s, f, g, err) : 0;

	if (is || (*looked_for)++ >= MOST_LOOKED_FOR)
		return is;
	return has_code(m, s, f, err);
}

/* The part of both files' samples that is in functions of both; -1: no memory. */
static double likeness(struct files *all, const struct file *base, const struct file *new,
		       struct err *err)
{
	struct matching *m = &all->m;
	double both = 0;

	m->of[BASE] = base->code;
	m->of[NEW] = new->code;
	for (int s = 0; s < BOTH; s++) {
		size_t looked_for = 0;

		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];
			int is = f->samples > 0 && f->symbol
					 ? has_function(m, s, f, &looked_for, err)
					 : 0;

			if (is < 0)
				return -1;
			if (is)
				both += f->samples;
		}
	}
	return base->samples + new->samples > 0 ? both / (base->samples + new->samples) : 0;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* A row of the table of matches; -1: no memory. */
static int tell(struct diff *x, const struct diff_file *pair)
{
	struct diff_match *m = arena_alloc(&x->a, sizeof(*m));
	const char **of = arena_alloc(&x->a, BOTH * sizeof(*of));

	if (!m || !of)
		return -1;
	of[BASE] = pair->base;
	of[NEW] = pair->new;
	*m = (struct diff_match){ .kind = DIFF_FILE_RENAMED,
				  .side = pair->side,
				  .certain = pair->certain,
				  .reported = true,
				  .dso = pair->new,
				  .of = { &of[BASE], &of[NEW] },
				  .n = { 1, 1 },
				  .alike = pair->alike,
				  .why = pair->why };
	return vec_push(&x->match, m);
}

static int keep(struct files *all, struct file *base, struct file *new, double alike,
		const char *but, bool same_build, struct err *err)
{
	struct arena *a = &all->x->a;
	struct diff_file pair = { .side = all->side,
				  .base = base->dso,
				  .new = new->dso,
				  .certain = !but,
				  .alike = same_build ? (double)NAN : alike };

	pair.why = same_build
			   ? "the same build-id"
			   : arena_printf(a, "%.0f %% of the samples are in functions of both%s%s",
					  100 * alike, but ? "; " : "", but ? but : "");
	base->paired = new->paired = true;
	if (!pair.why || vec_push(&all->x->file, pair) || tell(all->x, &pair))
		return err_nomem(err);
	return 0;
}

static int pair_builds(struct files *all, struct err *err)
{
	for (size_t b = 0; b < all->n[BASE]; b++)
		for (size_t n = 0; n < all->n[NEW] && !all->of[BASE][b].paired; n++) {
			struct file *base = &all->of[BASE][b], *new = &all->of[NEW][n];

			if (!new->paired &&
			    diff_builds(side_of(all, BASE), base->dso, side_of(all, NEW),
					new->dso) ==
				    DIFF_BUILDS_SAME &&keep(all, base, new, 1, NULL, true, err))
				return -1;
		}
	return 0;
}

/* The best pair that is left; later ones have to do without its files. *more: there was one. */
static int pair_best(struct files *all, double alike[MOST_FILES][MOST_FILES], bool *more,
		     struct err *err)
{
	size_t at[BOTH] = { 0, 0 };
	double best = -1, second = 0;

	for (size_t b = 0; b < all->n[BASE]; b++)
		for (size_t n = 0; n < all->n[NEW]; n++)
			if (!all->of[BASE][b].paired && !all->of[NEW][n].paired &&
			    alike[b][n] > best) {
				best = alike[b][n];
				at[BASE] = b;
				at[NEW] = n;
			}
	*more = best >= PERHAPS;
	if (!*more)
		return 0;
	for (size_t i = 0; i < all->n[NEW]; i++)
		if (i != at[NEW] && !all->of[NEW][i].paired)
			second = fmax(second, alike[at[BASE]][i]);
	for (size_t i = 0; i < all->n[BASE]; i++)
		if (i != at[BASE] && !all->of[BASE][i].paired)
			second = fmax(second, alike[i][at[NEW]]);
	return keep(all, &all->of[BASE][at[BASE]], &all->of[NEW][at[NEW]], best,
		    best < ENOUGH	     ? "too few to be sure"
		    : second > best - MARGIN ? "another file is about as much like it"
					     : NULL,
		    false, err);
}

static int pair_code(struct files *all, struct err *err)
{
	double alike[MOST_FILES][MOST_FILES] = { { 0 } };
	bool more = true;

	for (size_t b = 0; b < all->n[BASE]; b++)
		for (size_t n = 0; n < all->n[NEW]; n++) {
			struct file *base = &all->of[BASE][b], *new = &all->of[NEW][n];

			if (base->paired || new->paired)
				continue;
			alike[b][n] = likeness(all, base, new, err);
			if (alike[b][n] < 0)
				return -1;
		}
	while (more)
		if (pair_best(all, alike, &more, err))
			return -1;
	return 0;
}

int diff_match_files(struct diff *x, size_t side, struct err *err)
{
	struct files *all = calloc(1, sizeof(*all));
	struct named of[BOTH] = { { STRTAB_INIT, VEC_INIT }, { STRTAB_INIT, VEC_INIT } };
	int rc = -1;

	if (!all)
		return err_nomem(err);
	all->x = x;
	all->side = side;
	all->m = (struct matching){ .x = x, .side = side };
	if (each_row(all, BASE, add_name, &of[BASE], err) ||
	    each_row(all, NEW, add_name, &of[NEW], err) ||
	    add_files(all, BASE, &of[BASE], &of[NEW], err) ||
	    add_files(all, NEW, &of[NEW], &of[BASE], err))
		goto out;
	if (all->n[BASE] && all->n[NEW] &&
	    (pair_builds(all, err) || read_files(all, err) || pair_code(all, err)))
		goto out;
	rc = 0;
out:
	for (int s = 0; s < BOTH; s++) {
		for (size_t i = 0; i < all->n[s]; i++)
			free(all->of[s][i].code.f);
		strtab_free(&of[s].name);
		vec_free(&of[s].samples);
	}
	free(all);
	return rc;
}
