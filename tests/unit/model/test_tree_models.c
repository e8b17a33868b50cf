/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of the models that are compiled in, over counts of a real machine and over random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "minute.h"
#include "model/tree.h"

static uint64_t seed;

static double draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static struct model *load(const char *id, const double *system)
{
	struct model_sources sources = { .n_dirs = 0 };
	struct err err = ERR_INIT;
	struct model *m = NULL;

	if (model_load(&m, &sources, id, system, &err))
		fail_msg("%s: %s\n%s", id, err.what, err.hint);
	return m;
}

static void system_of(double *system, bool smt, bool wide)
{
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = 2;
	system[SYSTEM_SMT_ON] = smt;
	system[SYSTEM_CORE_WIDE] = wide;
	system[SYSTEM_DURATION] = 60;
	system[SYSTEM_TSC_FREQ] = 1.8e9;
	system[SYSTEM_TSC] = 60 * 1.8e9;
}

static void set(const struct model *m, double *count, const char *event, double v)
{
	uint32_t e = model_event_find(m, event, strlen(event));

	if (e == MODEL_NONE)
		fail_msg("%s has no %s", m->id, event);
	count[e] = v;
}

static void ivy_bridge_as_printed(void **state)
{
	double system[SYSTEM_COUNT], *count;
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tree_counts c = { .n_lps = 1, .system = system };
	struct tree t;
	struct model *m;

	(void)state;
	system_of(system, true, true);
	m = load("ivb", system);
	count = arena_alloc(&arena, m->n_events * sizeof(*count));
	assert_non_null(count);
	for (size_t i = 0; i < m->n_events; i++)
		count[i] = NAN;
	for (size_t i = 0; i < MINUTE; i++)
		set(m, count, minute[i].event, minute[i].count);
	c.count = count;
	assert_int_equal(tree_eval(&t, &arena, m, &c, NULL, &err), 0);
	for (size_t i = 0; i < PRINTED; i++) {
		uint32_t n = model_metric_find(m, printed[i].path, strlen(printed[i].path));
		char got[32], want[32];

		assert_true(n != MODEL_NONE);
		(void)snprintf(got, sizeof(got), "%.1f", 100 * t.node[n].shown);
		(void)snprintf(want, sizeof(want), "%.1f", printed[i].percent);
		if (strcmp(got, want))
			fail_msg("%s is %s, not %s", printed[i].path, got, want);
	}
	assert_true(t.node[model_metric_find(m, "frontend_bound.fetch_latency", 28)].path);
	/* a minute in which the front end never failed: read later, that is not believed */
	set(m, count, "IDQ_UOPS_NOT_DELIVERED.CORE", 0);
	assert_int_equal(tree_eval(&t, &arena, m, &c, NULL, &err), 0);
	assert_int_equal(t.node[model_metric_find(m, "Frontend_Bound", 14)].doubt, DOUBT_NONE);
	assert_int_equal(tree_doubt_zeros(&t, &arena, &c, NULL, &err), 0);
	assert_int_equal(t.node[model_metric_find(m, "Frontend_Bound", 14)].doubt, DOUBT_DEAD);
	assert_int_equal(t.node[model_metric_find(m, "Bad_Speculation", 15)].doubt, DOUBT_NONE);
	model_free(m);
	arena_free(&arena);
}

static double node_value(const struct tree *t, const char *name)
{
	uint32_t n = model_metric_find(t->model, name, strlen(name));

	assert_true(n != MODEL_NONE);
	return t->node[n].value.v;
}

/* How core cycles are told: with SMT on from the core, of one process by the share of time that the
 * other thread slept, with SMT off from the thread. */
static void core_clocks_by_how_it_is_counted(void **state)
{
	static const struct {
		bool smt, wide;
		double clks;
	} rows[] = { { false, true, 1000 }, { true, true, 800 }, { true, false, 650 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		double system[SYSTEM_COUNT], *count;
		struct arena arena = ARENA_INIT;
		struct err err = ERR_INIT;
		struct tree_counts c = { .n_lps = 1, .system = system };
		struct tree t;
		struct model *m;

		system_of(system, rows[i].smt, rows[i].wide);
		m = load("ivb", system);
		count = arena_alloc(&arena, m->n_events * sizeof(*count));
		assert_non_null(count);
		for (size_t k = 0; k < m->n_events; k++)
			count[k] = NAN;
		set(m, count, "CPU_CLK_UNHALTED.THREAD", 1000);
		set(m, count, "CPU_CLK_UNHALTED.THREAD_ANY", 1600);
		set(m, count, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 30);
		set(m, count, "CPU_CLK_UNHALTED.REF_XCLK", 100);
		c.count = count;
		assert_int_equal(tree_eval(&t, &arena, m, &c, NULL, &err), 0);
		if (fabs(node_value(&t, "CORE_CLKS") - rows[i].clks) > 1e-9)
			fail_msg("row %zu: %g", i, node_value(&t, "CORE_CLKS"));
		model_free(m);
		arena_free(&arena);
	}
}

struct tally {
	size_t vectors, shown, doubtful, over, paths, percents;
};

/* One vector: 0, none, or something; with errors now and then. */
static void draw_counts(const struct model *m, double *count, double *var)
{
	double scale = exp(draw() * 15), spread = draw() < 0.5 ? 0.3 : draw() * 8;
	double error = draw() < 0.5 ? 0 : draw() * 0.1;

	for (size_t e = 0; e < m->n_used; e++) {
		double r = draw();

		count[e] = r < 0.01   ? (double)NAN
			   : r < 0.04 ? 0
				      : floor(1e3 * scale * exp(spread * (draw() - 0.5)));
		var[e] = isnan(count[e]) ? 0 : pow(error * count[e] * draw(), 2);
	}
}

static double error_or_0(const struct tree_node *n)
{
	return isnan(n->error) ? 0 : n->error;
}

/* A metric in per cent is a share, too. */
static void check_percent(const struct model *m, const struct model_metric *x,
			  const struct tree_node *n, struct tally *tally)
{
	double share = n->shown * x->scale / 100;

	if (strcmp(x->unit, "%") != 0)
		return;
	assert_true(!n->doubt || isnan(n->shown));
	tally->percents += n->doubt != DOUBT_NONE;
	if (!isnan(share) && !(share >= 0 && share <= 1 + 1e-12))
		fail_msg("%s %s: %g", m->id, x->name, share);
	if (n->doubt && !n->value.why)
		assert_true(n->value.v < 0 || n->value.v * x->scale > 100);
}

static void check_tree(const struct tree *t, struct tally *tally)
{
	const struct model *m = t->model;

	tally->vectors++;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tree_node *n = &t->node[i];
		double sum = 0, errors = error_or_0(n);

		if (!m->metric[i].level) {
			check_percent(m, &m->metric[i], n, tally);
			continue;
		}
		tally->shown += isnan(n->shown) ? 0 : 1;
		tally->doubtful += n->doubt != DOUBT_NONE;
		tally->over += n->over;
		tally->paths += n->path;
		assert_true(!n->doubt || isnan(n->shown));
		assert_true(!n->over || !isnan(n->shown));
		assert_true(!n->path || n->over);
		/* clamping is for what is a hair off */
		if (!n->value.why && !n->doubt)
			assert_true(fabs(n->value.v - 0.5) <= 0.5 + TREE_SLACK + errors + 1e-9);
		if (isnan(n->shown))
			continue;
		if (!(n->shown >= 0 && n->shown <= 1))
			fail_msg("%s %s: %g", m->id, m->metric[i].name, n->shown);
		for (uint32_t k = 0; k < t->n; k++) {
			const struct model_metric *child = &m->metric[k];

			if (child->parent != i || isnan(t->node[k].shown) || child->overlap ||
			    child->domain != DOMAIN_SLOTS || m->metric[i].domain != DOMAIN_SLOTS)
				continue;
			sum += t->node[k].shown;
			errors += error_or_0(&t->node[k]) + TREE_SLACK;
		}
		if (sum > n->shown + errors + 2 * TREE_SLACK)
			fail_msg("%s %s: %g of %g +- %g", m->id, m->metric[i].name, sum, n->shown,
				 errors);
	}
}

/* Arithmetic in one thread, over the same paths again and again: sanitizers and an emulator only
 * make it slow. All of them are for the program as users have it. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define VECTORS 15
#elif defined(NDEBUG)
#define VECTORS 200
#else
#define VECTORS 50
#endif

static void check_model(const char *id, struct tally *tally)
{
	double system[SYSTEM_COUNT], *latency, *count, *var;
	uint32_t *member, *first;
	const double **cov;
	struct arena keep = ARENA_INIT;
	struct model *m;

	system_of(system, draw() < 0.5, draw() < 0.5);
	m = load(id, system);
	count = arena_alloc(&keep, (m->n_events + 1) * sizeof(*count));
	var = arena_alloc(&keep, (m->n_events + 1) * sizeof(*var));
	latency = arena_alloc(&keep, (m->n_events + 1) * sizeof(*latency));
	member = arena_alloc(&keep, (m->n_events + 1) * sizeof(*member));
	first = arena_alloc(&keep, (m->n_events + 2) * sizeof(*first));
	cov = arena_alloc(&keep, (m->n_events + 1) * sizeof(*cov));
	assert_true(count && var && member && first && cov && latency);
	for (uint32_t e = 0; e < m->n_events; e++) {
		count[e] = NAN;
		latency[e] = draw() * 100;
		member[e] = first[e] = e;
		cov[e] = &var[e];
	}
	first[m->n_events] = (uint32_t)m->n_events;
	for (size_t i = 0; i < VECTORS; i++) {
		struct tree_counts c = { .count = count,
					 .n_lps = 1,
					 .member = member,
					 .first = first,
					 .cov = cov,
					 .n_groups = m->n_used,
					 .latency = latency,
					 .system = system };
		struct arena arena = ARENA_INIT;
		struct err err = ERR_INIT;
		struct tree t;

		draw_counts(m, count, var);
		assert_int_equal(tree_eval(&t, &arena, m, &c, NULL, &err), 0);
		check_tree(&t, tally);
		arena_free(&arena);
	}
	model_free(m);
	arena_free(&keep);
}

/* Whatever is counted, on whatever CPU: what is shown is a share, and parts are no more than their
 * whole. */
static void random_counts_show_no_nonsense(void **state)
{
	struct model_sources sources = { .n_dirs = 0 };
	const struct model_row *row = NULL;
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tally tally = { 0 };
	size_t n = 0;

	(void)state;
	seed = 3;
	assert_int_equal(model_list(&arena, &sources, &row, &n, &err), 0);
	assert_true(n > 20);
	for (size_t i = 0; i < n; i++)
		check_model(row[i].id, &tally);
	print_message(
		"# %zu models, %zu vectors: %zu shares shown, %zu doubtful, %zu over, %zu on a "
		"path\n",
		n, tally.vectors, tally.shown, tally.doubtful, tally.over, tally.paths);
	assert_true(tally.shown > tally.vectors && tally.doubtful > tally.vectors &&
		    tally.paths > 0 && tally.percents > 0);
	arena_free(&arena);
}

/* Whether a count of 0 is believed depends on how many cycles there were: of each model with a tree
 * they have a name that is known. */
static void cycles_are_known_on_every_model(void **state)
{
	struct model_sources sources = { .n_dirs = 0 };
	const struct model_row *row = NULL;
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	double system[SYSTEM_COUNT];
	size_t n = 0;

	(void)state;
	system_of(system, false, false);
	assert_int_equal(model_list(&arena, &sources, &row, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct model *m = load(row[i].id, system);
		double *count = arena_alloc(&arena, (m->n_events + 1) * sizeof(*count));
		struct tree_counts c = { .count = count, .n_lps = 1, .system = system };
		size_t nodes = 0;

		assert_non_null(count);
		for (uint32_t e = 0; e < m->n_events; e++)
			count[e] = 1e9;
		for (size_t k = 0; k < m->n_metrics; k++)
			nodes += m->metric[k].level > 0;
		if (nodes && !(tree_cycles(m, &c) >= TREE_LONG))
			fail_msg("%s: %g cycles", m->id, tree_cycles(m, &c));
		model_free(m);
	}
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cycles_are_known_on_every_model),
		cmocka_unit_test(ivy_bridge_as_printed),
		cmocka_unit_test(core_clocks_by_how_it_is_counted),
		cmocka_unit_test(random_counts_show_no_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
