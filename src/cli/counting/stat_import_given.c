/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of nodes from elsewhere than their formulas: the tool that counted printed them, or counts
 * are missing that are small corrections.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "cli/counting/stat_import.h"

#define NAME_MAX_ 256u
#define ALIKE	  0.1 /* points: printed of the same counts */
#define ROUNDING  0.3 /* points: more than tools round by, and than turns of counters differ */

/* ---- which metric a name means ---------------------------------------------------------- */

/* Decorations around the name of a node: "metric_TMA_..Fetch_Latency(%)",
 * "Pipeline Utilization - Backend Bound - Memory (%)". */
static const char *const fronts[] = { "metric_", "TMA_", "Pipeline Utilization - " };

/* Words with signs between them become one: "Backend Bound - CPU" is backend_bound.cpu. */
static void given_plain_name(char out[NAME_MAX_], const char *name)
{
	size_t n = 0, len;

	for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++)
		if (!strncasecmp(name, fronts[i], strlen(fronts[i])))
			name += strlen(fronts[i]);
	while (*name == '.')
		name++;
	len = strlen(name);
	if (len > 3 && !strcmp(name + len - 3, "(%)"))
		len -= 3;
	while (len && isspace((unsigned char)name[len - 1]))
		len--;
	for (size_t i = 0; i < len && n + 1 < NAME_MAX_; i++) {
		if (len - i > 3 && !strncmp(name + i, " - ", 3)) {
			out[n++] = '.';
			i += 2;
		} else {
			out[n++] = name[i] == ' ' || name[i] == '-' ? '_' : name[i];
		}
	}
	out[n] = '\0';
}

/* AMD's names for the halves of a node, if models have others. */
static const struct {
	const char *said, *meant;
} halves[] = {
	{ "backend_bound.memory", "backend_bound_memory" },
	{ "backend_bound.cpu", "backend_bound_cpu" },
	{ "frontend_bound.latency", "frontend_bound_latency" },
	{ "frontend_bound.bandwidth", "frontend_bound_bandwidth" },
	{ "bad_speculation.mispredicts", "bad_speculation_mispredicts" },
	{ "bad_speculation.pipeline_restarts", "bad_speculation_pipeline_restarts" },
	{ "retiring.fastpath", "retiring_fastpath" },
	{ "retiring.microcode", "retiring_microcode" },
};

uint32_t import_metric(const struct model *m, const char *figure)
{
	char name[NAME_MAX_];
	uint32_t metric;
	const char *dot;

	given_plain_name(name, figure);
	if (!*name)
		return MODEL_NONE;
	metric = model_metric_named(m, name, strlen(name));
	for (size_t i = 0; metric == MODEL_NONE && i < sizeof(halves) / sizeof(*halves); i++)
		if (!strcasecmp(halves[i].said, name))
			metric = model_metric_named(m, halves[i].meant, strlen(halves[i].meant));
	/* toplev's full path: the last part, if the part before it is the parent */
	dot = strrchr(name, '.');
	if (metric == MODEL_NONE && dot && dot[1]) {
		metric = model_metric_named(m, dot + 1, strlen(dot + 1));
		if (metric != MODEL_NONE && !m->metric[metric].level)
			metric = MODEL_NONE;
	}
	return metric;
}

/* ---- figures that were printed ---------------------------------------------------------- */

static int make_given_room(struct import_given *g, struct arena *a, const struct model *m,
			   struct err *err)
{
	if (g->value)
		return 0;
	g->value = arena_alloc(a, (m->n_metrics + 1) * sizeof(*g->value));
	g->by = arena_alloc(a, (m->n_metrics + 1) * sizeof(*g->by));
	if (!g->value || !g->by)
		return err_nomem(err);
	for (size_t i = 0; i < m->n_metrics; i++)
		g->value[i] = NAN;
	return 0;
}

/* Printed twice, and not alike: of several kinds of cores. */
static bool is_ambiguous(const struct model *m, const struct counts_sums *s, size_t i, uint32_t k)
{
	for (size_t j = 0; j < s->n_figures; j++)
		if (j != i && import_metric(m, s->figure[j].name) == k &&
		    fabs(s->figure[j].value - s->figure[i].value) > ALIKE)
			return true;
	return false;
}

int import_take_figures(struct import_given *g, struct arena *a, const struct model *m,
			const struct counts_sums *s, const char *form, struct err *err)
{
	const char *by = arena_printf(a, "as %s printed it",
				      form && strcmp(form, "JSON") != 0 ? form : "the tool");

	if (!by || make_given_room(g, a, m, err))
		return err_nomem(err);
	for (size_t i = 0; i < s->n_figures; i++) {
		uint32_t k = import_metric(m, s->figure[i].name);

		if (k == MODEL_NONE || !m->metric[k].level || !isnan(g->value[k]) ||
		    is_ambiguous(m, s, i, k))
			continue;
		g->value[k] = s->figure[i].value / m->metric[k].scale;
		g->by[k] = by;
		g->n++;
	}
	return 0;
}

int import_disagreement(const char **note, struct arena *a, const struct tree *t,
			const struct counts_sums *s, struct err *err)
{
	const struct model *m = t->model;
	const char *first = NULL;
	size_t n = 0;

	*note = NULL;
	for (size_t i = 0; i < s->n_figures; i++) {
		const struct counted_figure *f = &s->figure[i];
		uint32_t k = import_metric(m, f->name);
		double ours;

		if (k == MODEL_NONE || !m->metric[k].level || t->node[k].value.why != VALUE_OK)
			continue;
		ours = t->node[k].value.v * m->metric[k].scale;
		if (fabs(ours - f->value) <= ROUNDING || n++)
			continue;
		first = arena_printf(a, "%s %.1f (tree: %.1f)", f->name, f->value, ours);
		if (!first)
			return err_nomem(err);
	}
	if (n)
		*note = arena_printf(a,
				     "printed figures that are not what their counts give by this "
				     "model: %zu, %s first",
				     n, first);
	return n && !*note ? err_nomem(err) : 0;
}

/* ---- corrections that were not counted -------------------------------------------------- */

/* Small corrections: perf stat's own top-down figures, made of the same counts, leave them out.
 * `level`: of the nodes in which the event is no more than a correction. */
static const struct {
	const char *event;
	unsigned level;
} corrections[] = {
	{ "INT_MISC.UOP_DROPPING", 2 },
	{ "INT_MISC.CLEARS_COUNT", 1 },
};
#define CORRECTIONS (sizeof(corrections) / sizeof(*corrections))

static const char *const fields[] = { "PERF_METRICS.RETIRING", "PERF_METRICS.BAD_SPECULATION",
				      "PERF_METRICS.FRONTEND_BOUND", "PERF_METRICS.BACKEND_BOUND" };

static double given_count_of(const struct model *m, const double *count, const char *name)
{
	uint32_t e = model_event_find(m, name, strlen(name));

	return e == MODEL_NONE ? (double)NAN : count[e];
}

struct asked {
	const struct model *m;
	unsigned least; /* level of nodes that all corrections allow */
};

static int note_given_event(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct asked *x = ctx;

	for (size_t i = 0; kind == EXPR_EVENT && i < CORRECTIONS; i++)
		if (!strcmp(x->m->event[index].name, corrections[i].event) &&
		    corrections[i].level < x->least)
			x->least = corrections[i].level;
	return 0;
}

/* In this node they are corrections, and nothing else. */
static bool may_go_without(const struct model *m, uint32_t metric, const double *system)
{
	struct asked x = { m, UINT32_MAX };

	if (!m->metric[metric].level || !m->metric[metric].expr)
		return false;
	(void)expr_needs(m->metric[metric].expr, system, note_given_event, &x);
	return m->metric[metric].level <= x.least;
}

static const char *given_name_of(const bool *missing)
{
	return !missing[0] ? corrections[1].event : corrections[0].event;
}

int import_without_corrections(struct import_given *g, struct import *im, size_t core,
			       const struct tree *t, const struct tree_counts *counts,
			       const char **note, struct err *err)
{
	const struct model *m = im->core[core].m;
	struct arena *a = &im->once;
	double *count = arena_memdup(a, counts->count, (m->n_events + 1) * sizeof(*count));
	struct tree_counts less = *counts;
	bool missing[CORRECTIONS] = { false };
	uint32_t slots = model_event_find(m, "SLOTS", 5);
	double sum = 0;
	struct tree without;
	const char *by;
	size_t n = 0;

	*note = NULL;
	*g = (struct import_given){ .value = NULL };
	if (!count || make_given_room(g, a, m, err))
		return err_nomem(err);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		sum += given_count_of(m, counts->count, fields[i]);
	if (!(sum > 0))
		return 0;
	for (size_t i = 0; i < CORRECTIONS; i++) {
		uint32_t e =
			model_event_find(m, corrections[i].event, strlen(corrections[i].event));

		missing[i] = e != MODEL_NONE && e < m->n_used && isnan(count[e]);
		if (missing[i])
			count[e] = 0;
	}
	if (slots != MODEL_NONE && isnan(count[slots]))
		count[slots] = sum; /* the fields are parts of it */
	less.count = count;
	if (import_tree(im, core, &less, &without, err))
		return -1;
	by = arena_printf(a, "without %s, which was not counted", given_name_of(missing));
	if (!by)
		return err_nomem(err);
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		if (t->node[i].value.why == VALUE_OK || without.node[i].value.why != VALUE_OK ||
		    !isnan(g->value[i]) || !may_go_without(m, i, counts->system))
			continue;
		g->value[i] = without.node[i].value.v;
		g->by[i] = by;
		n++;
	}
	g->n += n;
	if (n)
		*note = arena_printf(a,
				     "%s was not counted: %zu node%s made without that small "
				     "correction, as perf stat's own figures are",
				     given_name_of(missing), n, n == 1 ? " is" : "s are");
	return n && !*note ? err_nomem(err) : 0;
}
