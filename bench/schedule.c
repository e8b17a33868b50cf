/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule - how many groups each model takes by level, and how long planning takes.
 *
 *	bench_schedule [RUNS]
 *
 * One line for a model and SMT state: groups that count everything down to level 1, 2, ... at once,
 * and in brackets the least time of RUNS (20) that plan_make took, in microseconds; "drill" is the
 * plan by stages as deep as the model goes, its groups and their time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/plan.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int one(const struct model *m, const struct schedule_limits *l, const struct plan_wish *w,
	       unsigned runs, struct err *err)
{
	double least = INFINITY;
	size_t core = 0;

	for (unsigned i = 0; i < runs; i++) {
		struct arena a = ARENA_INIT;
		struct plan p;
		double t = now_us();
		int rc = plan_make(&p, &a, m, l, w, err);

		t = now_us() - t;
		least = t < least ? t : least;
		core = 0;
		for (size_t g = 0; !rc && g < p.n_groups; g++)
			core += p.group[g].core;
		arena_free(&a);
		if (rc)
			return -1;
	}
	printf(" %3zu (%5.0f)", core, least);
	return 0;
}

static int one_model(const char *id, bool smt, unsigned runs, struct err *err)
{
	static const unsigned levels[] = { 1, 2, 3, 4, 6 };
	const struct model_sources none = { .dir = NULL };
	const struct schedule_machine at = { .smt = smt };
	double system[SYSTEM_COUNT];
	struct plan_wish w = { .all = true, .system = system };
	struct schedule_limits l;
	struct model *m = NULL;
	bool tree = false;
	int rc = -1;

	for (size_t i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = smt;
	system[SYSTEM_CORE_WIDE] = 1;
	if (model_load(&m, &none, id, system, err))
		return -1;
	for (size_t i = 0; i < m->n_metrics; i++)
		tree |= m->metric[i].level > 0;
	if (!tree) {
		model_free(m);
		return 0;
	}
	schedule_limits_of(&l, m, &at);
	printf("%-14s %s", id, smt ? "smt" : "   ");
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		w.level = levels[i];
		if (one(m, &l, &w, runs, err))
			goto out;
	}
	w.level = 0;
	w.all = false;
	if (one(m, &l, &w, runs, err))
		goto out;
	rc = 0;
out:
	printf("\n");
	model_free(m);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
	const struct model_sources none = { .dir = NULL };
	const struct model_row *row;
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	size_t n;
	int rc = 1;

	printf("model          smt      level 1     level 2     level 3     level 4     level 6"
	       "       drill\n");
	if (model_list(&a, &none, &row, &n, &err))
		goto out;
	for (size_t i = 0; i < n; i++)
		if (one_model(row[i].id, false, runs ? runs : 1, &err) ||
		    one_model(row[i].id, true, runs ? runs : 1, &err))
			goto out;
	rc = 0;
out:
	if (rc)
		fprintf(stderr, "%s\n", err.what);
	arena_free(&a);
	return rc;
}
