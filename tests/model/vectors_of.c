/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vectors_of MODEL: the metrics of a model over many counts, the way that `stat` takes: model_load
 * with the facts of the machine, tree_eval over counts of each logical processor.
 *
 * Says first, in lines, how many names there are and what they are: the system facts, the events
 * that formulas use, the metrics. Then each record of doubles on its standard input (how many
 * logical processors; the facts; a latency for each event; counts [event * n + processor]) is
 * answered by four doubles for each metric: its value, what may be shown, its threshold over these
 * values (NAN where there is none of it), and bits: 1 over, 2 maybe, 4 doubtful.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/tree.h"

#define LPS_MAX 64
#define ROUNDS	8 /* thresholds that ask for others' thresholds */

struct bulk {
	const char *id;
	struct model *m;
	double system[SYSTEM_COUNT], loaded[SYSTEM_COUNT], lps;
	double *latency, *count;
	struct value *value, *passes;
};

static int fail(const char *what)
{
	fprintf(stderr, "vectors_of: %s\n", what);
	return -1;
}

/* The model as a machine with these facts has it. */
static int load(struct bulk *b)
{
	size_t events = b->m ? b->m->n_used : 0, metrics = b->m ? b->m->n_metrics : 0;
	struct err err = ERR_INIT;

	if (b->m && !memcmp(b->system, b->loaded, sizeof(b->system)))
		return 0;
	model_free(b->m);
	b->m = NULL;
	if (model_load(&b->m, NULL, b->id, b->system, &err))
		return fail(err.what);
	memcpy(b->loaded, b->system, sizeof(b->system));
	if (metrics && (b->m->n_used != events || b->m->n_metrics != metrics))
		return fail("facts of the machine change what a model has");
	return 0;
}

static void names(const struct bulk *b)
{
	printf("%d %zu %zu\n", SYSTEM_COUNT, b->m->n_used, b->m->n_metrics);
	for (size_t i = 0; i < b->m->n_used; i++)
		puts(b->m->event[i].name);
	for (size_t i = 0; i < b->m->n_metrics; i++)
		puts(b->m->metric[i].name);
	fflush(stdout);
}

static int room(struct bulk *b)
{
	size_t n = b->m->n_events + 1;

	b->latency = calloc(n, sizeof(*b->latency));
	b->count = calloc(n * LPS_MAX, sizeof(*b->count));
	b->value = calloc(b->m->n_metrics + 1, sizeof(*b->value));
	b->passes = calloc(b->m->n_metrics + 1, sizeof(*b->passes));
	return b->latency && b->count && b->value && b->passes ? 0 : fail("out of memory");
}

static int take(struct bulk *b)
{
	size_t used = b->m->n_used, cells;

	if (fread(b->system, sizeof(double), SYSTEM_COUNT, stdin) != SYSTEM_COUNT ||
	    fread(b->latency, sizeof(double), used, stdin) != used)
		return fail("a record that is cut off");
	if (!(b->lps >= 1) || b->lps > LPS_MAX)
		return fail("too many processors");
	cells = used * (size_t)b->lps;
	if (fread(b->count, sizeof(double), cells, stdin) != cells)
		return fail("a record that is cut off");
	/* events that no formula uses */
	for (size_t i = used; i < b->m->n_events; i++)
		b->latency[i] = NAN;
	for (size_t i = cells; i < b->m->n_events * (size_t)b->lps; i++)
		b->count[i] = NAN;
	return 0;
}

static void thresholds(struct bulk *b, const struct tree *t)
{
	struct expr_env env = { .count = b->count,
				.n_lps = (size_t)b->lps,
				.metric = b->value,
				.latency = b->latency,
				.system = b->system,
				.passes = b->passes };

	for (size_t i = 0; i < b->m->n_metrics; i++) {
		b->value[i] = t->node[i].value;
		b->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < b->m->n_metrics; i++)
			if (b->m->metric[i].threshold)
				b->passes[i] = expr_eval(b->m->metric[i].threshold, &env);
}

static int answer(struct bulk *b)
{
	struct tree_counts c = { .count = b->count,
				 .n_lps = (size_t)b->lps,
				 .latency = b->latency,
				 .system = b->system };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tree t;

	if (tree_eval(&t, &a, b->m, &c, NULL, &err)) {
		arena_free(&a);
		return fail(err.what);
	}
	thresholds(b, &t);
	for (size_t i = 0; i < t.n; i++) {
		const struct tree_node *n = &t.node[i];
		double out[4] = { n->value.v, n->shown, b->passes[i].v,
				  n->over + 2 * n->maybe + 4 * (n->doubt != DOUBT_NONE) };

		fwrite(out, sizeof(double), 4, stdout);
	}
	arena_free(&a);
	return fflush(stdout) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct bulk b = { .id = argc == 2 ? argv[1] : "" };
	int rc;

	for (int i = 0; i < SYSTEM_COUNT; i++)
		b.system[i] = NAN;
	rc = load(&b);
	if (!rc)
		names(&b);
	rc = rc || room(&b);
	while (!rc && fread(&b.lps, sizeof(b.lps), 1, stdin) == 1)
		rc = take(&b) || load(&b) || answer(&b);
	free(b.latency);
	free(b.count);
	free(b.value);
	free(b.passes);
	model_free(b.m);
	return rc ? 1 : 0;
}
