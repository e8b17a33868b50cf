/* SPDX-License-Identifier: BSD-3-Clause */
/* Models: that each one compiled in loads, what loading refuses, and which CPU gets which. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"

static void count(void *ctx, const char *text)
{
	(void)ctx;
	print_message("# %s\n", text);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each model: loads, children's levels follow, indices are in range, formulas need only what stands
 * before them. */
static int check_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const uint32_t *limit = ctx;

	assert_true(kind == EXPR_METRIC ? index < limit[0] : index < limit[1]);
	return 0;
}

static void check_model(const struct model *m)
{
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const struct model_metric *t = &m->metric[i];
		uint32_t limit[2] = { i, (uint32_t)m->n_used };

		assert_non_null(t->expr);
		assert_int_equal(expr_needs(t->expr, NULL, check_need, limit), 0);
		limit[0] = (uint32_t)m->n_metrics;
		if (t->threshold)
			assert_int_equal(expr_needs(t->threshold, NULL, check_need, limit), 0);
		if (t->parent != MODEL_NONE) {
			assert_true(t->parent < m->n_metrics);
			assert_true(m->metric[t->parent].level < t->level);
			assert_true(m->metric[t->parent].order < t->order);
		}
		assert_int_equal(model_metric_find(m, t->name, strlen(t->name)), i);
	}
	for (uint32_t i = 0; i < m->n_events; i++)
		assert_int_equal(model_event_find(m, m->event[i].name, strlen(m->event[i].name)),
				 i);
}

static void all_load(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	const struct model_row *row;
	double worst = 0;
	size_t failed = 0;
	size_t n;

	(void)state;
	assert_int_equal(model_list(&a, NULL, &row, &n, &err), 0);
	assert_true(n > 60);
	for (size_t i = 0; i < n; i++) {
		double t = now();
		struct model *m;
		size_t level[10] = { 0 }, metrics = 0, doubts;

		if (model_load(&m, NULL, row[i].id, NULL, &err)) {
			print_error("%s: %s\n%s\n", row[i].id, err.what, err.hint);
			err_clear(&err);
			failed++;
			continue;
		}
		t = now() - t;
		worst = t > worst ? t : worst;
		check_model(m);
		for (size_t k = 0; k < m->n_metrics; k++) {
			level[m->metric[k].level]++;
			metrics += !m->metric[k].level && strncmp(m->metric[k].area, "Aux", 3) != 0;
		}
		doubts = model_check(m, count, NULL);
		assert_int_equal(doubts, 0);
		print_message("# %-16s levels %zu/%zu/%zu/%zu/%zu/%zu metrics %zu aux %zu events "
			      "%zu used %zu %.2f ms\n",
			      row[i].id, level[1], level[2], level[3], level[4], level[5], level[6],
			      metrics, level[0] - metrics, m->n_events, m->n_used, t * 1e3);
		model_free(m);
	}
	print_message("# the slowest took %.2f ms\n", worst * 1e3);
	assert_int_equal(failed, 0);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
