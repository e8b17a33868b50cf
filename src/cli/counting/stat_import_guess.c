/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text does not name the CPU. The model that knows most of the events and figures is taken; if
 * several know as many, this machine's, then the one in whose formulas more of them occur, then the
 * first of the list. Names that every CPU has (cycles) decide nothing.
 */
#include <string.h>
#include <strings.h>

#include "cli/counting/stat_import.h"

#define NAMED 3u /* others that know as much, by name */

struct guess {
	struct import *im;
	const struct counts_file *file;
	const struct counts_sums *sums;
	const char *kind; /* PMU of cores; NULL: one kind */
	const char *here; /* this machine's model; NULL: none */
	const char *best, *title;
	size_t known, used; /* of the best */
	size_t asked;	    /* events and figures that could decide */
	const char *other[NAMED];
	size_t n_others;
};

/* It is of those cores. */
static bool is_mine(const struct guess *g, const struct counted_event *ev)
{
	return !g->kind || !*ev->pmu || !strcmp(ev->pmu, g->kind);
}

/* Whose nodes are called like that. */
static bool may_be_of(const struct model *m, const char *figure)
{
	static const struct {
		const char *front, *vendor;
	} fronts[] = { { "tma_", "intel" },
		       { "metric_TMA_", "intel" },
		       { "Pipeline Utilization", "amd" } };

	for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++)
		if (!strncasecmp(figure, fronts[i].front, strlen(fronts[i].front)))
			return !strcmp(m->vendor, fronts[i].vendor);
	return true;
}

static void rate_model(const struct guess *g, const struct model *m, size_t *known, size_t *used)
{
	*known = *used = 0;
	for (size_t i = 0; i < g->sums->n; i++) {
		const struct counted_event *ev = &g->sums->event[i];
		struct import_known k = import_event(m, ev->name);

		if (!is_mine(g, ev) || k.event == MODEL_NONE || k.generic ||
		    m->event[k.event].flags & EVENT_SOFTWARE)
			continue;
		(*known)++;
		*used += k.event < m->n_used;
	}
	for (size_t i = 0; i < g->sums->n_figures; i++) {
		const char *name = g->sums->figure[i].name;
		uint32_t k = import_metric(m, name);

		if (k != MODEL_NONE && m->metric[k].level && may_be_of(m, name)) {
			(*known)++;
			(*used)++;
		}
	}
}

static bool is_better(const struct guess *g, const char *id, size_t known, size_t used)
{
	bool here = g->here && !strcmp(id, g->here);

	if (known != g->known)
		return known > g->known;
	return known &&
	       (here || (used > g->used && !(g->best && g->here && !strcmp(g->best, g->here))));
}

/* The kind of cores that the model is for, by its PMU; "" if any fits. */
static int fits(bool *yes, const struct guess *g, const struct model_sources *src, const char *id,
		struct err *err)
{
	const char *pmu;

	if (model_core_pmu(&pmu, g->im->a, src, id, err))
		return -1;
	*yes = !g->kind || strncmp(g->kind, "cpu_", 4) != 0 || !strcmp(pmu, g->kind);
	return 0;
}

static int try_model(struct guess *g, const struct model_sources *src, const char *id,
		     struct err *err)
{
	struct model *m;
	size_t known, used;
	bool yes;

	if (fits(&yes, g, src, id, err))
		return -1;
	if (!yes)
		return 0;
	if (model_load(&m, src, id, g->im->system, NULL))
		return 0; /* a model that does not load is no guess */
	rate_model(g, m, &known, &used);
	if (known && known == g->known && g->best && !is_better(g, id, known, used)) {
		if (g->n_others < NAMED)
			g->other[g->n_others] = id;
		g->n_others++;
	} else if (is_better(g, id, known, used)) {
		if (known == g->known && g->best && g->n_others++ < NAMED)
			g->other[g->n_others - 1] = g->best;
		if (known != g->known)
			g->n_others = 0;
		g->best = id;
		g->known = known;
		g->used = used;
	}
	model_free(m);
	return 0;
}

static const char *in_words(const struct guess *g)
{
	struct arena *a = g->im->a;
	const char *others = "";

	if (g->n_others == 1)
		others = arena_printf(a, "; so does %s", g->other[0]);
	else if (g->n_others > 1)
		others = arena_printf(a, "; so do %s, %s%s%s and %zu more", g->other[0],
				      g->other[1], g->n_others > 2 ? ", " : "",
				      g->n_others > 2 ? g->other[2] : "",
				      g->n_others > NAMED ? g->n_others - NAMED : 0);
	if (g->n_others > 1 && g->n_others <= NAMED)
		others = arena_printf(a, "; so do %s and %s", g->other[0],
				      g->other[g->n_others - 1]);
	return others ? arena_printf(a,
				     "model %s is a guess%s: it knows %zu of %zu names in the "
				     "text%s; --model names another",
				     g->best,
				     g->here && !strcmp(g->here, g->best) ? " (this machine's)"
									  : "",
				     g->known, g->asked, others)
		      : NULL;
}

static size_t names_that_decide(const struct guess *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->sums->n; i++)
		n += is_mine(g, &g->sums->event[i]) &&
		     import_kind(g->sums->event[i].name, "").type == COUNTS_KIND_NONE;
	for (size_t i = 0; i < g->sums->n_figures; i++)
		n += strcmp(g->sums->figure[i].name, "+-") != 0;
	return n > g->known ? n : g->known;
}

static bool asks_for_nodes(const struct options *o)
{
	return o->measure.node.n || o->measure.metric.n || OPTION_GIVEN(o, level);
}

int import_guess(const char **id, const char **why, struct import *im,
		 const struct counts_file *file, const char *kind, struct err *err)
{
	struct model_sources src = cli_model_sources(im->cli);
	struct model_choice choice = cli_model_choice(im->cli);
	struct counts_span all = { .from = 0 };
	struct guess g = { .im = im, .file = file, .kind = kind };
	const struct model_row *row;
	struct counts_sums *sums;
	size_t n;

	*id = *why = NULL;
	if (counts_file_sums(&sums, im->a, file, &all, err) ||
	    model_list(im->a, &src, &row, &n, err))
		return -1;
	g.sums = sums;
	if (model_choice_id(&choice, NULL, kind, &g.here, NULL))
		g.here = NULL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(row[i].vendor, "sysfs") != 0 && try_model(&g, &src, row[i].id, err))
			return -1;
	if (!g.best && g.here && asks_for_nodes(&im->cli->opt)) {
		*id = g.here;
		*why = arena_printf(im->a,
				    "model %s is this machine's: no name in the text tells "
				    "which CPU counted; --model names another",
				    g.here);
		return *why ? 0 : err_nomem(err);
	}
	if (!g.best)
		return 0;
	g.asked = names_that_decide(&g);
	*id = g.best;
	*why = in_words(&g);
	return *why ? 0 : err_nomem(err);
}
