/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that only one side has: file by file they are looked for on the other side, and the
 * rows of those that are certainly the same are made one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_match_int.h"

static const double NAMELESS = 0.2; /* of the samples: worth a note */

static bool has_samples_on(const struct diff *x, const struct diff_item *it, int s)
{
	return diff_samples(x, it, s) > 0;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* The main function of each side first: that with most samples, the new one's by its own. */
static void order_match_names(struct matching *m, struct diff_match *match)
{
	for (int s = 0; s < BOTH; s++) {
		double most = -1;

		for (size_t i = 0; i < match->n[s]; i++) {
			const struct match_func *f = match_named(&m->of[s], match->of[s][i]);
			const char *name = match->of[s][i];

			if (!f || f->samples <= most)
				continue;
			most = f->samples;
			match->of[s][i] = match->of[s][0];
			match->of[s][0] = name;
		}
	}
}

/* The code of a side is not here: functions cannot be looked for. */
static void note_unknown(struct matching *m)
{
	size_t alone[BOTH] = { 0, 0 };
	const char *text;

	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++)
			alone[s] += match_alone(&m->of[s].f[i]) &&
				    !diff_is_address(m->dso, m->of[s].f[i].name);
	if (*m->dso == '[' || (m->of[BASE].known && m->of[NEW].known) || !alone[BASE] ||
	    !alone[NEW])
		return;
	text = arena_xprintf(&m->x->a,
			     "%s: %zu functions are in one side alone; renamed ones are not found, "
			     "as the file of %s is not here",
			     m->dso, alone[BASE] + alone[NEW],
			     m->x->side[m->of[BASE].known ? m->side : 0].name);
	vec_xpush(&m->x->note, text);
}

static void match_file(struct diff *x, size_t side, const char *dso)
{
	size_t first = x->match.n;
	struct matching m;

	match_open(&m, x, side, dso);
	if (m.of[BASE].known && m.of[NEW].known) {
		match_clones(&m);
		match_renamed(&m, true);
		match_inlined(&m);
		match_parts(&m, true);
		match_renamed(&m, false);
		match_parts(&m, false);
	} else {
		note_unknown(&m);
	}
	for (size_t i = first; i < x->match.n; i++)
		order_match_names(&m, x->match.v[i]);
	match_close(&m);
}

/* ---- joined rows ----------------------------------------------------------------------------- */

/* Returns true if `it` is in the match, and in none before it. */
static bool match_names_item(const struct diff_match *match, const struct diff_item *it)
{
	if (it->match || it->side != match->side || !it->key[0] || !it->key[1] || !it->key[2] ||
	    strcmp(it->key[1], match->dso))
		return false;
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < match->n[s]; i++)
			if (it->alone != (s == BASE ? DIFF_OF_NEW : DIFF_OF_BASE) &&
			    !strcmp(match->of[s][i], it->key[2]))
				return true;
	return false;
}

static void add_amounts(struct diff_item *to, const struct diff_item *more, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to->run[i].v += more->run[i].v;
		to->run[i].var += more->run[i].var;
		to->run[i].samples += more->run[i].samples;
	}
}

/* Each event has a row of its own. Rows that went into another one lose their keys. */
static void join_match_rows(struct diff *x, struct diff_match *match)
{
	diff_items *rows = &x->table[DIFF_ROWS];
	size_t n_runs = x->side[0].n + x->side[match->side].n;

	for (size_t i = 0; i < rows->n; i++) {
		struct diff_item *to = &rows->v[i];

		if (!match_names_item(match, to))
			continue;
		if (match->certain)
			for (size_t k = i + 1; k < rows->n; k++) {
				struct diff_item *it = &rows->v[k];

				if (!match_names_item(match, it) || strcmp(it->key[0], to->key[0]))
					continue;
				add_amounts(to, it, n_runs);
				it->key[0] = NULL;
			}
		if (match->certain && match->n[NEW])
			to->key[2] = match->of[NEW][0];
		to->match = match;
	}
}

static void drop_joined(struct diff *x)
{
	diff_items *rows = &x->table[DIFF_ROWS];
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].key[0])
			rows->v[n++] = rows->v[i];
	rows->n = n;
	for (size_t i = 0; i < x->match.n; i++)
		if (x->match.v[i]->n[BASE] && x->match.v[i]->n[NEW])
			x->match.v[kept++] = x->match.v[i];
	x->match.n = kept;
}

/* Samples without names of functions: verdicts on those are of little use. */
static void note_nameless(struct diff *x, size_t side)
{
	const diff_items *rows = &x->table[DIFF_ROWS];
	double all[BOTH] = { 0, 0 }, nameless[BOTH] = { 0, 0 };

	for (size_t i = 0; i < rows->n; i++)
		for (int s = 0; s < BOTH; s++) {
			const struct diff_item *it = &rows->v[i];
			double samples = it->side == side ? diff_samples(x, it, s) : 0;

			all[s] += samples;
			if (!it->key[2] ||
			    diff_is_address(it->key[1] ? it->key[1] : "", it->key[2]))
				nameless[s] += samples;
		}
	for (int s = 0; s < BOTH; s++) {
		const char *text;

		if ((s == BASE && side > 1) || nameless[s] < NAMELESS * all[s] || !(all[s] > 0))
			continue;
		text = arena_xprintf(
			&x->a,
			"no symbols: %.0f %% of the samples of %s. Give the programs and "
			"libraries as they were recorded: --symbols DIR",
			100 * nameless[s] / all[s], x->side[s == BASE ? 0 : side].name);
		vec_xpush(&x->note, text);
	}
}

void diff_match(struct diff *x, size_t side)
{
	const diff_items *rows = &x->table[DIFF_ROWS];
	struct strtab dsos = STRTAB_INIT;
	size_t first = x->match.n;

	for (size_t i = 0; i < rows->n; i++) {
		const struct diff_item *it = &rows->v[i];

		if (it->side == side && it->key[1] && *it->key[1] &&
		    has_samples_on(x, it, BASE) != has_samples_on(x, it, NEW))
			(void)strtab_xadds(&dsos, it->key[1]);
	}
	for (uint32_t i = 1; i < dsos.n; i++)
		match_file(x, side, arena_xstrdup(&x->a, strtab_get(&dsos, i)));
	strtab_free(&dsos);
	note_nameless(x, side);
	for (size_t i = first; i < x->match.n; i++)
		join_match_rows(x, x->match.v[i]);
	drop_joined(x);
}
