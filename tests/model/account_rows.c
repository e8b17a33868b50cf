/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_rows MODEL: an account of cycles over tallies made by hand.
 *
 * Reads lines: "event NAME CONFIG" for each that was recorded, in order; "penalty NAME CYCLES";
 * "whole W..." and then "row W...": of each event samples and what one of them stands for, as
 * SAMPLES:WEIGHT. Writes "node NAME PARENT ADDS EVENT" for each node (EVENT: the recorded one's
 * index, or -) once the first weights come, and for each line of weights "cells V..." (nan: no
 * value).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/account.h"

enum { EVENTS_MAX = 256, LINE = 1 << 16 };

static struct pd_event events[EVENTS_MAX];
static struct tally tallies[EVENTS_MAX];
static size_t n_events;
static struct arena arena = ARENA_INIT;
static struct account *acc;
static struct account_bound bound;
static struct account_cell *cells;

static int die(const struct err *err)
{
	(void)fprintf(stderr, "%s\n%s\n", err->what, err->hint);
	return 1;
}

static int add_event(char *s)
{
	char *name = strtok(s, " \n"), *config = strtok(NULL, " \n");

	if (!name || !config || n_events == EVENTS_MAX)
		return -1;
	events[n_events].name = arena_strdup(&arena, name);
	events[n_events].attr.type = PERF_TYPE_RAW;
	events[n_events++].attr.config = strtoull(config, NULL, 16);
	return 0;
}

static void put_nodes(void)
{
	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];
		int32_t e = t->event == MODEL_NONE ? -1 : bound.event[t->event];

		printf("node %s %s %d ", t->name,
		       t->parent == MODEL_NONE ? "-" : acc->node[t->parent].name, t->adds);
		if (e < 0)
			printf("-\n");
		else
			printf("%d\n", e);
	}
}

static int take_weights(char *s)
{
	char *save = NULL, *w = strtok_r(s, " \n", &save);

	for (size_t i = 0; i < n_events; i++, w = strtok_r(NULL, " \n", &save)) {
		uint64_t n, of;

		if (!w || sscanf(w, "%" SCNu64 ":%" SCNu64, &n, &of) != 2)
			return -1;
		tallies[i] = (struct tally){ n, n * of, (double)n * (double)of * (double)of };
	}
	return 0;
}

static void put_cells(const struct account_cell *c)
{
	printf("cells");
	for (size_t i = 0; i < acc->n; i++)
		printf(" %.17g", c[i].v);
	printf("\n");
}

static int line(char *s, const struct account_pmu *pmu, struct err *err)
{
	if (!strncmp(s, "event ", 6))
		return add_event(s + 6);
	if (!strncmp(s, "penalty ", 8))
		return account_penalties(&acc, 1, &arena, "stdin", s + 8, strlen(s + 8), err);
	if (take_weights(s + strcspn(s, " ")))
		return err_set(err, ERR_FORMAT, "weights: %.40s", s);
	if (!strncmp(s, "row", 3)) {
		account_row(&bound, tallies, cells);
		put_cells(cells);
		return 0;
	}
	for (size_t i = 0; i < n_events; i++)
		events[i].samples = tallies[i].samples;
	if (account_bind(&bound, &arena, acc, events, n_events, pmu, err))
		return -1;
	account_whole(&bound, &arena, tallies, NULL);
	put_nodes();
	put_cells(bound.whole);
	cells = arena_alloc(&arena, acc->n * sizeof(*cells));
	return cells ? 0 : err_nomem(err);
}

int main(int argc, char **argv)
{
	static char buf[LINE];
	struct model_sources src = { 0 };
	struct model_cpu cpu = { "GenuineIntel", 6, 44, 2, "cpu" };
	struct account_pmu pmu = { &cpu, NULL };
	struct err err = ERR_INIT;
	struct model *m = NULL;
	int ret = 0;

	if (argc != 2)
		return 2;
	if (model_load(&m, &src, argv[1], NULL, &err) || account_load(&acc, &arena, m, &src, &err))
		ret = die(&err);
	while (!ret && fgets(buf, sizeof(buf), stdin))
		if (line(buf, &pmu, &err))
			ret = die(&err);
	model_free(m);
	arena_free(&arena);
	return ret;
}
