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

#include "base/xalloc.h"
#include "report/diff/diff_match_int.h"

enum { MOST_FILES = 16, MOST_LOOKED_FOR = 32, LEAST_INSNS = 10 };

/* Shares of a pair's samples: enough to join it, and to mention it. */
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
static void each_row(struct files *all, int s,
		     void (*fn)(struct files *all, int s, const char *dso, const char *function,
				double samples, void *ctx),
		     void *ctx)
{
	const struct diff_side *side = side_of(all, s);
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < side->n; i++) {
		const struct table *t = diff_find(&side->run[i], "rows");
		size_t dso = t ? diff_column(t, "dso") : 0;
		size_t function = t ? diff_column(t, "function") : 0;
		size_t samples = t ? diff_column(t, "samples") : 0;
		struct table_row row = { 0 };

		while (t && table_next(t, &row)) {
			const char *file = diff_text(&a, t, dso, &row);
			const char *name = diff_text(&a, t, function, &row);

			if (file && name)
				fn(all, s, file, name, diff_number(t, samples, &row).v, ctx);
			arena_reset(&a);
		}
	}
	arena_free(&a);
}

struct named { /* files of a side */
	struct strtab name;
	VEC(double) samples; /* by id; 0: taken */
};

static void add_renamed_file_name(struct files *all, int s, const char *dso, const char *function,
				  double samples, void *ctx)
{
	struct named *to = ctx;
	uint32_t id;

	(void)all;
	(void)s;
	(void)function;
	if (*dso == '[' || !(samples > 0))
		return;
	id = strtab_xadds(&to->name, dso);
	while (to->samples.n <= id)
		vec_xpush(&to->samples, 0);
	to->samples.v[id] += samples;
}

/* Returns the file with most samples of those that `other` does not have; 0: none is left. */
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

static void add_renamed_file_samples(struct files *all, int s, const char *dso,
				     const char *function, double samples, void *ctx)
{
	struct file *file = file_named(all, s, dso);
	struct match_func *f = file ? match_named(&file->code, function) : NULL;

	(void)ctx;
	if (file && samples > 0)
		file->samples += samples;
	if (f && samples > 0)
		f->samples += samples;
}

static void add_renamed_file_files(struct files *all, int s, struct named *mine,
				   const struct named *other)
{
	uint32_t id;

	while (all->n[s] < MOST_FILES && (id = take_largest(mine, other))) {
		struct file *file = &all->of[s][all->n[s]++];

		*file = (struct file){ .dso = arena_xstrdup(&all->x->a,
							    strtab_get(&mine->name, id)) };
	}
}

/* Their functions, with samples. */
static void read_files(struct files *all)
{
	for (int s = 0; s < BOTH; s++) {
		for (size_t i = 0; i < all->n[s]; i++)
			match_open_file(&all->of[s][i].code, side_of(all, s), all->of[s][i].dso);
		each_row(all, s, add_renamed_file_samples, NULL);
	}
}

/* ---- likeness -------------------------------------------------------------------------------- */

static bool are_alike(struct matching *m, int s, struct match_func *f, struct match_func *g)
{
	const struct shape *a = match_shape(m, s, f), *b = match_shape(m, !s, g);

	if (!a->insns || !b->insns) /* nothing decodes it; every program has some of these */
		return *f->name != '_' && strcmp(f->name, "main") != 0;
	return (a->insns < LEAST_INSNS && b->insns < LEAST_INSNS) ||
	       shape_alike(a, b) >= SAME_NAME_ALIKE;
}

/* Returns true if some function of the other file has exactly this code. */
static bool renamed_file_has_code(struct matching *m, int s, struct match_func *f)
{
	const struct shape *mine = match_shape(m, s, f);
	struct match_file *other = &m->of[!s];

	for (size_t i = 0; mine->insns >= LEAST_INSNS && i < other->n; i++) {
		const struct shape *theirs;

		if (!other->f[i].symbol || other->f[i].symbol->size > 2 * f->symbol->size ||
		    f->symbol->size > 2 * other->f[i].symbol->size)
			continue;
		theirs = match_shape(m, !s, &other->f[i]);
		if (theirs->insns == mine->insns && theirs->code == mine->code)
			return true;
	}
	return false;
}

static bool has_function(struct matching *m, int s, struct match_func *f, size_t *looked_for)
{
	struct match_func *g = f->symbol->nameless ? NULL : match_named(&m->of[!s], f->name);

	return (g && g->symbol && are_alike(m, s, f, g)) ||
	       ((*looked_for)++ < MOST_LOOKED_FOR && renamed_file_has_code(m, s, f));
}

/* Returns the part of both files' samples that is in functions of both. */
static double likeness(struct files *all, const struct file *base, const struct file *new)
{
	struct matching *m = &all->m;
	double both = 0;

	m->of[BASE] = base->code;
	m->of[NEW] = new->code;
	for (int s = 0; s < BOTH; s++) {
		size_t looked_for = 0;

		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];

			if (f->samples > 0 && f->symbol && has_function(m, s, f, &looked_for))
				both += f->samples;
		}
	}
	return base->samples + new->samples > 0 ? both / (base->samples + new->samples) : 0;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* A row of the table of matches. */
static void put_file_match(struct diff *x, const struct diff_file *pair)
{
	struct diff_match *m = arena_xalloc(&x->a, sizeof(*m));
	const char **of = arena_xalloc(&x->a, BOTH * sizeof(*of));

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
	vec_xpush(&x->match, m);
}

static void keep_file_pair(struct files *all, struct file *base, struct file *new, double alike,
			   const char *but, bool same_build)
{
	struct arena *a = &all->x->a;
	struct diff_file pair = { .side = all->side,
				  .base = base->dso,
				  .new = new->dso,
				  .certain = !but,
				  .alike = same_build ? (double)NAN : alike };

	pair.why = same_build
			   ? "the same build-id"
			   : arena_xprintf(a, "%.0f %% of the samples are in functions of both%s%s",
					   100 * alike, but ? "; " : "", but ? but : "");
	base->paired = new->paired = true;
	vec_xpush(&all->x->file, pair);
	put_file_match(all->x, &pair);
}

static void pair_builds(struct files *all)
{
	for (size_t b = 0; b < all->n[BASE]; b++)
		for (size_t n = 0; n < all->n[NEW] && !all->of[BASE][b].paired; n++) {
			struct file *base = &all->of[BASE][b], *new = &all->of[NEW][n];

			if (!new->paired &&
			    diff_builds(side_of(all, BASE), base->dso, side_of(all, NEW),
					new->dso) == DIFF_BUILDS_SAME)
				keep_file_pair(all, base, new, 1, NULL, true);
		}
}

/* The best pair that is left; later ones have to do without its files. *more: there was one. */
static void pair_best(struct files *all, double alike[MOST_FILES][MOST_FILES], bool *more)
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
		return;
	for (size_t i = 0; i < all->n[NEW]; i++)
		if (i != at[NEW] && !all->of[NEW][i].paired)
			second = fmax(second, alike[at[BASE]][i]);
	for (size_t i = 0; i < all->n[BASE]; i++)
		if (i != at[BASE] && !all->of[BASE][i].paired)
			second = fmax(second, alike[i][at[NEW]]);
	keep_file_pair(all, &all->of[BASE][at[BASE]], &all->of[NEW][at[NEW]], best,
		       best < ENOUGH		? "too few to be sure"
		       : second > best - MARGIN ? "another file is about as much like it"
						: NULL,
		       false);
}

static void pair_code(struct files *all)
{
	double alike[MOST_FILES][MOST_FILES] = { { 0 } };
	bool more = true;

	for (size_t b = 0; b < all->n[BASE]; b++)
		for (size_t n = 0; n < all->n[NEW]; n++) {
			struct file *base = &all->of[BASE][b], *new = &all->of[NEW][n];

			if (!base->paired && !new->paired)
				alike[b][n] = likeness(all, base, new);
		}
	while (more)
		pair_best(all, alike, &more);
}

void diff_match_files(struct diff *x, size_t side)
{
	struct files *all = xcalloc(1, sizeof(*all));
	struct named of[BOTH] = { { STRTAB_INIT, VEC_INIT }, { STRTAB_INIT, VEC_INIT } };

	all->x = x;
	all->side = side;
	all->m = (struct matching){ .x = x, .side = side };
	each_row(all, BASE, add_renamed_file_name, &of[BASE]);
	each_row(all, NEW, add_renamed_file_name, &of[NEW]);
	add_renamed_file_files(all, BASE, &of[BASE], &of[NEW]);
	add_renamed_file_files(all, NEW, &of[NEW], &of[BASE]);
	if (all->n[BASE] && all->n[NEW]) {
		pair_builds(all);
		read_files(all);
		pair_code(all);
	}
	for (int s = 0; s < BOTH; s++) {
		for (size_t i = 0; i < all->n[s]; i++)
			free(all->of[s][i].code.f);
		strtab_free(&of[s].name);
		vec_free(&of[s].samples);
	}
	free(all);
}
