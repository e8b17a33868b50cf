/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of models whose counters are well known: which groups a stage has, what is pinned, how many
 * groups lead down to a node. (tests/model/test_schedule.py holds plans against a second
 * implementation.)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "loaded.h"
#include "model/event_same.h"
#include "model/plan.h"

static bool is_above(const struct model *m, uint32_t node, uint32_t under)
{
	for (; under != MODEL_NONE; under = m->metric[under].parent)
		if (under == node)
			return true;
	return false;
}

/* Whatever path of nodes is open, all of its metrics are counted by groups of open stages. */
static void check_stages(const struct model *m, const struct plan *p)
{
	for (size_t s = 0; s < p->n_stages; s++) {
		for (size_t i = 0; i < p->stage[s].n_metrics; i++) {
			uint32_t metric = p->stage[s].metric[i], g = p->metric_group[metric];
			bool listed = g == MODEL_NONE;

			assert_true(p->wanted[metric]);
			for (size_t t = 0; t < p->n_stages; t++)
				for (size_t j = 0; j < p->stage[t].n_groups; j++)
					listed |=
						p->stage[t].group[j] == g &&
						(p->stage[t].under == MODEL_NONE ||
						 is_above(m, p->stage[t].under, p->stage[s].under));
			if (!listed)
				fail_msg("%s: group %u is not open", m->metric[metric].path, g);
		}
	}
}

/* Each event whose latency is asked for is sampled by one group, which fits; a stage lists those of
 * its formulas. */
static void check_latencies(const struct model *m, const struct plan *p,
			    const struct schedule_limits *l)
{
	const char *why;

	for (size_t i = 0; i < p->n_latency; i++) {
		size_t groups = 0, stages = 0;

		for (size_t g = 0; g < p->n_samplers; g++)
			for (size_t e = 0; e < p->sampler[g].n; e++)
				groups += p->sampler[g].event[e] == p->latency[i];
		for (size_t s = 0; s < p->n_stages; s++)
			for (size_t e = 0; e < p->stage[s].n_latency; e++)
				stages += p->stage[s].latency[e] == p->latency[i];
		assert_int_equal(groups, 1);
		assert_true(stages >= 1);
	}
	for (size_t g = 0; g < p->n_samplers; g++)
		assert_true(schedule_fits(m, l, p->sampler[g].event, p->sampler[g].n, &why));
	for (size_t s = 0; s < p->n_stages; s++)
		for (size_t i = 0; i < p->stage[s].n_metrics; i++)
			if (strstr(m->metric[p->stage[s].metric[i]].text, "$PEBS"))
				assert_true(p->stage[s].n_latency > 0);
}

static void test_plans(void **state)
{
	static const char *const ids[] = { "snb", "ivb", "skx", "icl", "spr", "gnr", "lnl-lnc" };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(ids) / sizeof(*ids); i++) {
		double system[SYSTEM_COUNT];
		struct schedule_limits l;
		struct plan_wish w = { .system = system };
		struct arena a = ARENA_INIT;
		struct model *m;
		struct plan p;
		unsigned all;

		load(&m, &l, system, ids[i / 2], i & 1);
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		assert_true(p.n_stages > 4);
		assert_int_equal(p.stage[0].under, MODEL_NONE);
		assert_int_equal(p.stage[0].n_groups, 1); /* level 1 never takes turns */
		check_stages(m, &p);
		check_latencies(m, &p, &l);
		assert_true(!p.stage[0].n_latency);
		assert_int_equal(p.n_latency > 0, i / 2 >= 5); /* gnr, lnl-lnc */
		all = p.groups_for_all;
		w.all = true;
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		assert_int_equal(p.n_stages, 1);
		assert_int_equal(p.groups_for_all, all);
		check_stages(m, &p);
		check_latencies(m, &p, &l);
		arena_free(&a);
		model_free(m);
	}
}

static bool in_group(const struct plan_group *g, uint32_t event)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->event[i] == event)
			return true;
	return false;
}

/* What the pinned group has no other has, all fit beside it, and all have cycles. */
static void check_pinned(const struct model *m, const struct schedule_limits *l,
			 const struct plan *p)
{
	const struct plan_group *pinned = &p->group[0];
	struct schedule_limits with = *l;
	const char *why;

	assert_true(pinned->pinned);
	assert_int_equal(p->stage[0].group[0], 0);
	assert_true(m->event[pinned->event[0]].flags & EVENT_SLOTS);
	with.beside = pinned->event;
	with.n_beside = pinned->n;
	for (uint32_t i = 0; i < m->n_metrics; i++)
		if (m->metric[i].level == 1)
			assert_int_equal(p->metric_group[i], 0);
	for (size_t g = 1; g < p->n_groups; g++) {
		const struct plan_group *x = &p->group[g];

		assert_false(x->pinned);
		for (size_t i = 0; i < x->n; i++)
			assert_false(in_group(pinned, x->event[i]));
		assert_true(!x->core || in_group(x, event_cycles(m)));
		assert_true(schedule_fits(m, &with, x->event, x->n, &why));
	}
}

static void test_pinned(void **state)
{
	static const char *const ids[] = { "icl", "spr", "gnr", "lnl-lnc" };
	static const char *const general[] = { "ivb", "skx", "zen4", "adl-grt", "neoverse-n2" };
	double system[SYSTEM_COUNT];
	struct schedule_limits l;
	struct plan_wish w = { .system = system, .pin = true, .thresholds = true };
	struct model *m;
	struct plan p;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(ids) / sizeof(*ids); i++) {
		struct arena a = ARENA_INIT;

		load(&m, &l, system, ids[i / 2], true);
		w.all = i & 1;
		w.level = w.all ? 3 : 0;
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		check_stages(m, &p);
		check_pinned(m, &l, &p);
		w.level = 1; /* of one group there is nothing to hold on to */
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		assert_int_equal(p.n_groups, 1);
		assert_false(p.group[0].pinned);
		arena_free(&a);
		model_free(m);
	}
	w.level = 0;
	w.all = false;
	for (size_t i = 0; i < sizeof(general) / sizeof(*general); i++) {
		struct arena a = ARENA_INIT;

		load(&m, &l, system, general[i], true);
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		assert_false(p.group[0].pinned);
		arena_free(&a);
		model_free(m);
	}
}

/* No way down to a node takes more than half of what everything does, where that is three groups or
 * more; and with a look ahead (the first four need one) each stage is as good as without. */
static void test_way_down(void **state)
{
	static const struct {
		const char *id;
		bool smt;
	} at[] = {
		{ "ivb", true }, { "ivb", false }, { "clx", false }, { "icx", true },
		{ "skl", true }, { "icl", true },  { "spr", true },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(at) / sizeof(*at); i++) {
		double system[SYSTEM_COUNT];
		struct schedule_limits l;
		struct plan_wish w = { .system = system, .level = 3, .thresholds = true };
		struct arena a = ARENA_INIT;
		struct model *m;
		struct plan p;

		load(&m, &l, system, at[i / 2].id, at[i / 2].smt);
		w.pin = i & 1;
		assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
		assert_true(p.groups_at_once > 1);
		assert_true(2 * p.groups_at_once <= p.groups_for_all);
		check_stages(m, &p);
		arena_free(&a);
		model_free(m);
	}
}

/* One node asked for by name, and nothing else. */
static void test_named(void **state)
{
	double system[SYSTEM_COUNT];
	struct schedule_limits l;
	struct arena a = ARENA_INIT;
	struct model *m;
	struct plan p;
	uint32_t metric;
	struct plan_wish w = {
		.system = system, .no_tree = true, .metric = &metric, .n_metrics = 1
	};

	(void)state;
	load(&m, &l, system, "ivb", false);
	metric = model_metric_find(m, "DRAM_Bound", 10);
	if (metric == MODEL_NONE)
		metric = model_metric_find(m, "L3_Miss_Bound", 13);
	assert_int_not_equal(metric, MODEL_NONE);
	assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), 0);
	assert_int_equal(p.n_stages, 1);
	assert_int_equal(p.n_groups, 1);
	assert_int_equal(p.metric_group[metric], 0);
	assert_int_equal(p.stage[0].n_metrics, 1);
	metric = UINT32_MAX - 1;
	assert_int_equal(plan_make(&p, &a, m, &l, &w, NULL), -1);
	arena_free(&a);
	model_free(m);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_way_down),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
