/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas as steps against formulas one by one: the same values, bit by bit, for all models that
 * are compiled in, on one and on several logical processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/expr_steps.h"
#include "model/model.h"

static uint64_t seed = 11;

static double draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static const bool varies[SYSTEM_COUNT] = { [SYSTEM_TSC] = true, [SYSTEM_DURATION] = true };

struct both {
	const struct model *m;
	size_t n_lps;
	double system[SYSTEM_COUNT], *count, *latency;
	struct expr_steps steps;
	struct expr_range values, *passed;
	struct value *value, *passes; /* one by one */
	struct expr_env env;
	size_t known, unknown, bent;
};

static bool same(struct value a, struct value b)
{
	return a.why == b.why && a.which == b.which &&
	       (a.why ? isnan(a.v) && isnan(b.v) : !memcmp(&a.v, &b.v, sizeof(a.v)));
}

static void check_values(struct both *t, const char *when)
{
	const struct value *v = expr_steps_values(&t->steps);

	for (size_t i = 0; i < t->m->n_metrics; i++) {
		if (t->m->metric[i].expr)
			t->value[i] = expr_eval(t->m->metric[i].expr, &t->env);
		t->known += !t->value[i].why;
		t->unknown += t->value[i].why != VALUE_OK;
		if (!same(t->value[i], v[i]))
			fail_msg("%s %s, %s: %.17g (%d, %u), not %.17g (%d, %u)", t->m->id,
				 t->m->metric[i].name, when, v[i].v, (int)v[i].why, v[i].which,
				 t->value[i].v, (int)t->value[i].why, t->value[i].which);
	}
}

static void check_thresholds(struct both *t)
{
	struct value *v = expr_steps_passes(&t->steps);

	for (size_t i = 0; i < t->m->n_metrics; i++)
		v[i] = t->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
	for (size_t i = 0; i < t->m->n_metrics; i++) {
		if (!t->m->metric[i].threshold)
			continue;
		t->passes[i] = expr_eval(t->m->metric[i].threshold, &t->env);
		expr_steps_run(&t->steps, t->passed[i]);
		if (!same(t->passes[i], v[i]))
			fail_msg("%s: threshold of %s", t->m->id, t->m->metric[i].name);
	}
}

static void draw_counts(struct both *t)
{
	for (size_t e = 0; e < t->m->n_used; e++) {
		double gone = draw(), r;

		for (size_t lp = 0; lp < t->n_lps; lp++) {
			r = draw();
			t->count[e * t->n_lps + lp] = gone < 0.02 ? (double)NAN
						      : r < 0.03  ? (double)NAN
						      : r < 0.1	  ? 0
								  : floor(exp(20 * draw()));
		}
		t->latency[e] = draw() < 0.3 ? (double)NAN : 50 * draw();
	}
	t->system[SYSTEM_TSC] = 1e9 * draw();
	t->system[SYSTEM_DURATION] = draw();
}

/* A count (or a latency) changes, only what it reaches is done again, and then all is as it was. */
static void check_bent(struct both *t, enum expr_ref_kind kind, uint32_t e)
{
	double *count = &t->count[e * t->n_lps], old[8], latency = t->latency[e];
	struct expr_reach r;
	struct value *kept;

	memcpy(old, count, t->n_lps * sizeof(*old));
	assert_int_equal(expr_steps_reach(&t->steps, t->values, kind, e, &r), 0);
	kept = calloc(r.n + 1, sizeof(*kept));
	assert_non_null(kept);
	expr_steps_keep(&t->steps, &r, kept);
	for (size_t lp = 0; lp < t->n_lps; lp++)
		count[lp] *= kind == EXPR_EVENT ? 1.25 : 1;
	t->latency[e] += kind == EXPR_LATENCY ? 3 : 0;
	expr_steps_event(&t->steps, e, count);
	expr_steps_latency(&t->steps, e, t->latency[e]);
	expr_steps_again(&t->steps, &r);
	check_values(t, "bent");
	memcpy(count, old, t->n_lps * sizeof(*old));
	t->latency[e] = latency;
	expr_steps_event(&t->steps, e, count);
	expr_steps_latency(&t->steps, e, latency);
	expr_steps_bring(&t->steps, &r, kept);
	t->bent += r.n_metrics;
	free(kept);
}

static void add_all(struct both *t)
{
	const struct model *m = t->m;
	struct err err = ERR_INIT;

	t->values = expr_steps_here(&t->steps);
	for (uint32_t i = 0; i < m->n_metrics; i++)
		if (m->metric[i].expr)
			assert_int_equal(
				expr_steps_add(&t->steps, m->metric[i].expr, i, &t->values, &err),
				0);
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		t->passed[i] = expr_steps_here(&t->steps);
		if (m->metric[i].threshold)
			assert_int_equal(expr_steps_add(&t->steps, m->metric[i].threshold,
							(uint32_t)m->n_metrics + i, &t->passed[i],
							&err),
					 0);
	}
}

static void check_model(const char *id, size_t n_lps, struct both *t)
{
	struct model_sources sources = { .n_dirs = 0 };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct model *m = NULL;
	struct expr_steps_setup setup = { .n_lps = n_lps, .system = t->system, .varies = varies };

	for (int i = 0; i < SYSTEM_COUNT; i++)
		t->system[i] = draw() < 0.1 ? (double)NAN : floor(draw() * 3);
	assert_int_equal(model_load(&m, &sources, id, t->system, &err), 0);
	t->m = m;
	t->n_lps = n_lps;
	setup.n_metrics = m->n_metrics;
	setup.n_events = m->n_used;
	t->count = arena_alloc(&a, (m->n_used * n_lps + 1) * sizeof(double));
	t->latency = arena_alloc(&a, (m->n_used + 1) * sizeof(double));
	t->value = arena_alloc(&a, (m->n_metrics + 1) * sizeof(*t->value));
	t->passes = arena_alloc(&a, (m->n_metrics + 1) * sizeof(*t->passes));
	t->passed = arena_alloc(&a, (m->n_metrics + 1) * sizeof(*t->passed));
	assert_true(t->count && t->latency && t->value && t->passes && t->passed);
	for (size_t i = 0; i < m->n_metrics; i++)
		t->value[i] = t->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
	t->env = (struct expr_env){ t->count, n_lps, t->value, t->latency, t->system, t->passes };
	assert_int_equal(expr_steps_new(&t->steps, &a, &setup, &err), 0);
	add_all(t);
	for (int round = 0; round < 3; round++) {
		draw_counts(t);
		expr_steps_take(&t->steps, t->count, t->latency, t->system);
		expr_steps_run(&t->steps, t->values);
		check_values(t, "straight");
		check_thresholds(t);
		for (uint32_t e = (uint32_t)(draw() * 10); e < m->n_used; e += 10) {
			check_bent(t, EXPR_EVENT, e);
			check_bent(t, EXPR_LATENCY, e);
		}
		check_values(t, "brought back");
	}
	expr_steps_free(&t->steps);
	model_free(m);
	arena_free(&a);
}

static void steps_are_as_formulas(void **state)
{
	struct model_sources sources = { .n_dirs = 0 };
	const struct model_row *row = NULL;
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct both t = { 0 };
	size_t n = 0;

	(void)state;
	assert_int_equal(model_list(&arena, &sources, &row, &n, &err), 0);
	assert_true(n > 20);
	for (size_t i = 0; i < n; i++)
		check_model(row[i].id, i % 3 ? 1 + i % 4 : 1, &t);
	print_message("# %zu models: %zu values, %zu without, %zu reached\n", n, t.known, t.unknown,
		      t.bent);
	assert_true(t.known > 1000 && t.unknown > 1000 && t.bent > 1000);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(steps_are_as_formulas) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
