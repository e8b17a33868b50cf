/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes of the tree in kernels that are built to be bound by them: a program that runs the kernel
 * is counted as stat does, each group of events in a run of its own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "measure/bench.h"
#include "measure/drill.h"
#include "measure/validate_nodes.h"

static const struct {
	const char *nodes, *kernel;
	enum calibrate_at at;
} rows[] = {
#define NODE(nodes, kernel, at) { nodes, kernel, at },
#include "measure/nodes/node_kernel.def"
#undef NODE
};
#define ROWS (sizeof(rows) / sizeof(*rows))

const char *const validate_at_key[] = {
	[AT_ANY] = "",		[AT_L1] = "L1",		  [AT_L2] = "L2",	[AT_L3] = "L3",
	[AT_MEMORY] = "memory", [AT_PAGES] = "pages",	  [AT_LINES] = "lines", [AT_L1I] = "L1I",
	[AT_WALKS] = "walks",	[AT_L2_NEAR] = "L2 near",
};
#define PLACES (sizeof(validate_at_key) / sizeof(*validate_at_key))

struct noding {
	const struct validate_nodes_opts *o;
	struct validate_node *out;
	size_t n;
	struct drill d;
	struct counting k;
	struct arena a; /* of one kernel */
	bool stopped;
	size_t from, to; /* nodes of the kernel that runs */
};

/* ---- one kernel ------------------------------------------------------------------------------ */

static void set_node_verdict(struct validate_node *n, const struct tree *t)
{
	const struct tree_node *x = &t->node[n->metric];

	if (x->value.why != VALUE_OK || isnan(x->shown)) {
		n->why = x->doubt ? "its counters contradict others, or do not work here"
				  : "an event of it was not counted";
		return;
	}
	n->share = (struct estimate){ x->shown, x->error, NULL };
	n->verdict = x->over ? NODE_BOUND : NODE_NOT_BOUND;
}

static int count_node_kernel(struct noding *g, const struct measure_opts *opts, struct err *err)
{
	enum counting_event what;
	int rc;

	if (counting_open(&g->k, opts, "count", DRILL_MACHINE, err) ||
	    drill_open(&g->d, &g->k, NULL, 0, err))
		return -1;
	rc = drill_start(&g->d, &g->k, err);
	do
		rc = rc || drill_next(&g->d, &g->k, &what, err) ? -1 : 0;
	while (!rc && what != COUNTING_OVER);
	g->stopped = !rc && g->k.result.interrupted;
	if (!rc && !g->stopped) {
		rc = drill_results(&g->d, &g->k, &g->a, 0, UINT64_MAX, err);
		for (size_t i = g->from; !rc && i < g->to; i++)
			set_node_verdict(&g->out[i], &g->d.part[0].tree);
	}
	return counting_finish(&g->k, rc, err);
}

/* Nodes that cannot be counted are no failure: they have the reason. */
static int run_node_kernel(struct noding *g, const struct validate_node *first, struct err *err)
{
	const char *words[8] = { g->o->self, "validate", "--spin" }, *nodes[2] = { NULL };
	struct measure_opts opts = *g->o->opts;
	struct err why = ERR_INIT;
	int rc;

	g->a = (struct arena)ARENA_INIT;
	words[3] = arena_printf(&g->a, "%s%s%s", first->kernel->name, first->at ? "@" : "",
				validate_at_key[first->at]);
	nodes[0] = arena_strdup(&g->a, first->node);
	for (size_t i = g->from + 1; nodes[0] && i < g->to; i++)
		nodes[0] = arena_printf(&g->a, "%s,%s", nodes[0], g->out[i].node);
	words[4] = "--for";
	words[5] = g->o->quick ? "30ms" : "100ms";
	if (!nodes[0] || !words[3])
		return err_nomem(err);
	opts.a = &g->a;
	opts.program = (struct text_list){ .v = words, .n = 6 };
	opts.node = (struct text_list){ .v = nodes, .n = 1 };
	opts.no_mux = true;
	rc = count_node_kernel(g, &opts, &why);
	for (size_t i = g->from; rc && i < g->to; i++)
		g->out[i].why = arena_strdup(g->o->a, why.what);
	drill_free(&g->d);
	counting_close(&g->k);
	memset(&g->d, 0, sizeof(g->d));
	memset(&g->k, 0, sizeof(g->k));
	arena_free(&g->a);
	return rc && why.code == ERR_NOMEM ? err_nomem(err) : 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A node of the model whose last part is one of these names. */
static bool is_node_named(const struct model_metric *m, const char *nodes)
{
	const char *last = model_last_part(m->path);
	size_t n = strlen(last);

	for (const char *s = nodes; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		if (len == n && !strncasecmp(s, last, n))
			return true;
		s += len;
	}
	return false;
}

static void find_node_kernels(struct noding *g)
{
	const struct model *m = g->o->m;

	for (size_t r = 0; r < ROWS; r++)
		for (uint32_t i = 0; i < m->n_metrics; i++)
			if (m->metric[i].level && is_node_named(&m->metric[i], rows[r].nodes) &&
			    (!g->o->wanted || g->o->wanted[i]))
				g->out[g->n++] = (struct validate_node){
					.node = m->metric[i].path,
					.metric = i,
					.kernel = kernel_find(rows[r].kernel),
					.at = rows[r].at,
					.share = ESTIMATE_NONE("not tested"),
					.why = "stopped before",
				};
}

static size_t same_kernel(const struct noding *g, size_t from)
{
	size_t to = from + 1;

	while (to < g->n && g->out[to].kernel == g->out[from].kernel &&
	       g->out[to].at == g->out[from].at)
		to++;
	return to;
}

/* Runs of a kernel: four events count at the same time, and the fixed counters beside them. */
static double node_runs_of(const struct noding *g, size_t from, size_t to)
{
	const struct model *m = g->o->m;
	bool *needed = arena_alloc(g->o->a, m->n_events + 1);
	size_t n = 0;

	if (!needed)
		return 0;
	for (size_t i = from; i < to; i++)
		if (validate_needs(needed, g->o->a, m, g->out[i].metric, NULL))
			return 0;
	for (size_t i = 0; i < m->n_events; i++)
		n += needed[i];
	return 1 + (double)n / 4;
}

double validate_nodes_time(const struct validate_nodes_opts *opts)
{
	struct noding g = { .o = opts };
	double seconds = 0;

	g.out = arena_alloc(opts->a, (ROWS * opts->m->n_metrics + 1) * sizeof(*g.out));
	if (!g.out)
		return 0;
	find_node_kernels(&g);
	for (size_t from = 0, to; from < g.n; from = to) {
		const char *why = NULL;

		to = same_kernel(&g, from);
		(void)calibrate_bytes(opts->sizes, g.out[from].at, &why);
		if (!why)
			seconds += node_runs_of(&g, from, to) * (opts->quick ? 0.05 : 0.12);
	}
	return seconds;
}

int validate_nodes(struct validate_node **out, size_t *n, const struct validate_nodes_opts *opts,
		   struct err *err)
{
	struct noding g = { .o = opts };

	g.out = arena_alloc(opts->a, (ROWS * opts->m->n_metrics + 1) * sizeof(*g.out));
	if (!g.out)
		return err_nomem(err);
	find_node_kernels(&g);
	*out = g.out;
	*n = g.n;
	for (; g.from < g.n && !g.stopped; g.from = g.to) {
		const struct validate_node *first = &g.out[g.from];
		const char *why = NULL;

		g.to = same_kernel(&g, g.from);
		(void)calibrate_bytes(opts->sizes, first->at, &why);
		for (size_t i = g.from; why && i < g.to; i++)
			g.out[i].why = why;
		if (!why && run_node_kernel(&g, first, err))
			return -1;
		if (opts->news && !opts->news(opts->ctx, (double)g.to / (double)g.n))
			g.stopped = true;
	}
	return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

int validate_kernel_at(const struct kernel **k, enum calibrate_at *at, const char *text,
		       struct err *err)
{
	char name[64];
	size_t n = strcspn(text, "@"), i = 0;

	(void)snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : 0), text);
	*k = kernel_find(name);
	while (text[n] && i < PLACES && strcmp(text + n + 1, validate_at_key[i]) != 0)
		i++;
	if (*k && i < PLACES) {
		*at = (enum calibrate_at)i;
		return 0;
	}
	(void)err_set(err, ERR_USAGE, "there is no kernel %.60s", text);
	return err_hint(err, "cyclade list kernels shows all; KERNEL@L2, @L3, @memory: how large");
}

int validate_spin(const struct kernel *k, enum calibrate_at at, const struct calibrate_sizes *sizes,
		  double seconds, struct err *err)
{
	struct kernel_setup s = { .huge = at == AT_L2 || at == AT_L3 || at == AT_MEMORY };
	struct timespec from, now;
	struct kernel_work w;
	const char *why = NULL;
	uint64_t n;

	s.bytes = calibrate_bytes(sizes, at, &why);
	if (why)
		return err_set(err, ERR_UNSUPPORTED, "%s", why);
	if (k->before)
		return err_set(err, ERR_UNSUPPORTED,
			       "%s needs a second CPU: it runs in a test only", k->name);
	if (k->unit && s.bytes)
		s.units = (unsigned)(s.bytes / 64);
	if (bench_prepare(&w, k, &s, err)) {
		kernel_release(&w);
		return -1;
	}
	n = w.round > 1 || w.units > 1 ? w.round : 1000;
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		k->run(&w, n);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec) <
		 seconds);
	kernel_release(&w);
	return 0;
}
