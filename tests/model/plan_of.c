/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_of - the plan of a model as text, with all that a second implementation needs to judge it.
 *
 *	plan_of MODEL LEVEL [all] [smt] [pin] [loose] [thresholds] [reserved=N] [fixed_taken=MASK]
 *		[taken=MASK] [counters=N] [time=RUNS]
 *
 * Lines of tab-separated words: limits, event, set, plan lines. "time": microseconds a plan takes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/plan.h"

struct measure_opts {
	struct plan_wish wish;
	struct schedule_limits limits;
	double system[SYSTEM_COUNT];
	unsigned runs;
};

static bool word(const char *s, const char *key, unsigned long *out)
{
	size_t n = strlen(key);

	if (strncmp(s, key, n) != 0 || s[n] != '=')
		return false;
	*out = strtoul(s + n + 1, NULL, 0);
	return true;
}

static bool ask_word(struct measure_opts *a, const char *s)
{
	unsigned long v;

	if (!strcmp(s, "all"))
		a->wish.all = true;
	else if (!strcmp(s, "smt"))
		a->limits.smt = true;
	else if (!strcmp(s, "pin"))
		a->wish.pin = true;
	else if (!strcmp(s, "loose"))
		a->wish.loose = true;
	else if (!strcmp(s, "thresholds"))
		a->wish.thresholds = true;
	else if (word(s, "reserved", &v))
		a->limits.reserved = (unsigned)v;
	else if (word(s, "fixed_taken", &v))
		a->limits.fixed_taken = (uint32_t)v;
	else if (word(s, "taken", &v))
		a->limits.taken = (uint32_t)v;
	else if (word(s, "counters", &v))
		a->limits.counters = (unsigned)v;
	else if (word(s, "time", &v))
		a->runs = (unsigned)v;
	else
		return false;
	return true;
}

static void put_model(const struct model *m, const struct measure_opts *a, const struct plan *p)
{
	const struct schedule_limits *l = &a->limits;

	printf("limits\t%u\t%u\t%u\t%u\t%u\t%u\t%u\n", l->counters, l->fixed, l->smt, l->reserved,
	       l->taken, l->fixed_taken, l->offcore);
	for (size_t i = 0; i < m->n_events; i++) {
		const struct model_event *e = &m->event[i];

		if (p->home[i] != MODEL_NONE)
			printf("event\t%zu\t%s\t%u\t%u\t%u\t%s\t%s\t%s\n", i, e->name,
			       l->smt ? e->counters : e->counters_alone, e->fixed, e->flags, e->pmu,
			       e->code, e->modifiers);
	}
	for (size_t i = 0; i < m->n_metrics; i++)
		if (p->wanted[i])
			printf("metric\t%s\t%d\t%d\t%s\n", m->metric[i].name,
			       p->metric_group[i] == MODEL_NONE ? -1 : (int)p->metric_group[i],
			       p->mixed[i], m->metric[i].text);
	for (size_t g = 0; g < p->n_groups; g++) {
		if (p->group[g].pinned)
			printf("beside");
		else
			printf("group\t%zu\t%d", g, p->group[g].core);
		for (size_t e = 0; e < p->group[g].n; e++)
			printf("\t%u", p->group[g].event[e]);
		printf("\n");
	}
}

static int time_it(const struct model *m, const struct measure_opts *a, struct err *err)
{
	struct timespec t0, t1;
	struct plan p;
	double least = INFINITY;

	for (unsigned i = 0; i < a->runs; i++) {
		struct arena mem = ARENA_INIT;
		double us;
		int rc;

		clock_gettime(CLOCK_MONOTONIC, &t0);
		rc = plan_make(&p, &mem, m, &a->limits, &a->wish, err);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		us = (double)(t1.tv_sec - t0.tv_sec) * 1e6 +
		     (double)(t1.tv_nsec - t0.tv_nsec) / 1e3;
		least = us < least ? us : least;
		arena_free(&mem);
		if (rc)
			return -1;
	}
	printf("time\t%.0f\n", least);
	return 0;
}

int main(int argc, char **argv)
{
	struct model_sources none = { .n_dirs = 0 };
	struct measure_opts a = { .limits = { .offcore = 2 } };
	struct arena mem = ARENA_INIT;
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	struct model *m = NULL;
	struct plan p;
	int rc = 1;

	if (argc < 3)
		return 2;
	a.wish.level = (unsigned)strtoul(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++)
		if (!ask_word(&a, argv[i]))
			return 2;
	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		a.system[i] = NAN;
	a.system[SYSTEM_SMT_ON] = a.limits.smt;
	a.system[SYSTEM_CORE_WIDE] = 1;
	a.system[SYSTEM_THREADS_PER_CORE] = a.limits.smt ? 2 : 1;
	a.wish.system = a.system;
	if (model_load(&m, &none, argv[1], a.system, &err))
		goto out;
	if (!a.limits.counters)
		a.limits.counters = a.limits.smt ? m->counters : m->counters_alone;
	a.limits.fixed = m->fixed;
	if (plan_make(&p, &mem, m, &a.limits, &a.wish, &err))
		goto out;
	if (a.runs) {
		if (time_it(m, &a, &err))
			goto out;
	} else {
		put_model(m, &a, &p);
	}
	plan_print(&text, &p, m, &a.limits);
	fputs(buf_str(&text), stdout);
	rc = 0;
out:
	if (rc)
		fprintf(stderr, "%s\n%s\n", err.what, err.hint);
	buf_free(&text);
	arena_free(&mem);
	model_free(m);
	return rc;
}
