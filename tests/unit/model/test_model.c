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

#include "minute.h"
#include "model/load/model_int.h"

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

/* ---- texts at hand ---- */

static const char facts[] = "title T\nvendor x\ncounters 4 8\nfixed 3\nwidth 4\n";
static const char events[] = "CYC event=0x3c 0-3:0-7,f1 1000\n"
			     "UOPS event=0xc2,umask=0x02 0-3:0-7 2000003 precise\n"
			     "LAT event=0xcd,umask=0x01,ldlat=0x4 3 100003 alone errata=BV98\n"
			     "FE event=0xc6,umask=0x01,frontend=0x11 0-3 7 latency=12.5\n"
			     "UNC uncore_imc/event=0x04,umask=0x03/ - 0\n";

static int load(struct model **m, const char *model, const char *tree, const char *ev,
		struct err *err)
{
	const struct model_text texts[] = {
		{ "x/y/model", model, strlen(model) },
		{ "x/y/tree", tree, strlen(tree) },
		{ "x/y/events", ev, strlen(ev) },
	};
	const struct model_sources s = { .text = texts, .n_texts = 3 };

	err_clear(err);
	return model_load(m, &s, "y", NULL, err);
}

static void refused(void **state)
{
	static const struct {
		const char *model, *tree, *events, *what;
	} rows[] = {
		{ "title T\nfoo 3\n", "", "", "x/y/model:2:1: there is no keyword foo here" },
		{ "counters many\n", "", "", "x/y/model:1: expected a number up to 32" },
		{ facts, "expr 3\n", "",
		  "x/y/tree:1:1: expected `node NAME` or `metric NAME` first" },
		{ facts, "node A\nexpr CYK\n", events,
		  "x/y/tree:2:1: no event, metric or constant is named CYK; the nearest is CYC" },
		{ facts, "node A\nexpr 1 +\n", events, "x/y/tree:2:4: " },
		{ facts, "node A\nexpr B\nnode B\nexpr A\n", events, "x/y/tree:2: A needs itself" },
		{ facts, "node A\n", events, "x/y/tree:1: A has no formula (expr)" },
		{ facts, "node A\nexpr 1\nparent B\n", events,
		  "x/y/tree:3: A: there is no node B" },
		{ facts, "node A\nexpr 1\nparent B\nnode B\nexpr 1\nparent A\n", events,
		  "x/y/tree:1: A: its parents go in a circle" },
		{ facts, "node A\nexpr 1\nlocate NOPE\n", events,
		  "x/y/tree:3: A: there is no event NOPE" },
		{ facts, "node A\nexpr 1\nmax big\n", events,
		  "x/y/tree:3: expected a number, not big" },
		{ facts, "node A B\n", events, "x/y/tree:1:6: expected a name" },
		{ facts, "node A\nafter B\n", events,
		  "x/y/tree:2:7: there is no other row of this name above" },
		{ facts, "", "E event=1 0-4 0\n",
		  "x/y/events:1:11: E: no such counter on this model" },
		{ facts, "", "E event=1 - 0\n", "x/y/events:1:3: E: fits no counter" },
		{ facts, "", "E event=1 x 0\n",
		  "x/y/events:1:11: E: expected counters, like 0-3:0-7,f1" },
		{ facts, "", "E event=1 0 0 funny\n",
		  "x/y/events:1:15: E: there is no such word here" },
		{ facts, "base nosuch\n", "", "x/y/tree:1:6: there is no tree of a model nosuch" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = ERR_INIT;
		struct model *m;

		assert_int_equal(load(&m, rows[i].model, rows[i].tree, rows[i].events, &err), -1);
		assert_null(m);
		if (strncmp(err.what, rows[i].what, strlen(rows[i].what)) != 0)
			assert_string_equal(err.what, rows[i].what);
		assert_int_equal(err.code, ERR_FORMAT);
	}
}

static const struct model_metric *metric(const struct model *m, const char *name)
{
	uint32_t i = model_metric_find(m, name, strlen(name));

	assert_int_not_equal(i, MODEL_NONE);
	return &m->metric[i];
}

static const struct model_event *event(const struct model *m, const char *name)
{
	uint32_t i = model_event_find(m, name, strlen(name));

	assert_int_not_equal(i, MODEL_NONE);
	return &m->event[i];
}

static void loads(void **state)
{
	static const char tree[] =
		"node A\narea FE\nexpr UOPS:c1:i1 / CLKS\nflag > 0.1\nunit %\nscale 100\n"
		"node C\nparent A\nexpr A / W\nflag > 0.1 & P\noverlap\nlocate UOPS;LAT\n"
		"node B\nparent A\nafter -\nexpr ##A\nsays Means B.\ntry This.\n"
		"metric CLKS\nexpr CYC:SUP if #SMT_on else CYC\n"
		"metric W\nexpr 2 * 2\n"
		"metric Gone\nabsent\n"
		"metric N\nexpr W + UNC + FE*$PEBS + Gone\nlanguage perf\n"
		"metric P\nexpr cpu@UOPS\\,cmask\\=0x6@ / cyc\n";
	struct err err = ERR_INIT;
	struct model *m;

	(void)state;
	/* B is a child of A: ##A would need B itself */
	assert_int_equal(load(&m, facts, tree, events, &err), -1);
	assert_non_null(strstr(err.what, "B needs itself"));
	assert_int_equal(load(&m, facts, strstr(tree, "metric CLKS"), events, &err), 0);
	assert_string_equal(event(m, "CYC:SUP")->modifiers, "k");
	assert_string_equal(event(m, "cpu/UOPS,cmask=0x6/")->code,
			    "event=0xc2,umask=0x02,cmask=0x6");
	assert_int_equal(event(m, "LAT")->flags, EVENT_LDLAT | EVENT_TAKEN_ALONE);
	assert_string_equal(event(m, "lat")->errata, "BV98");
	assert_int_equal(event(m, "LAT")->counters, 8);
	assert_int_equal(event(m, "CYC")->counters, 0xf);
	assert_int_equal(event(m, "CYC")->counters_alone, 0xff);
	assert_int_equal(event(m, "CYC")->fixed, 2);
	assert_int_equal(event(m, "FE")->flags, EVENT_FRONTEND);
	assert_true(fabs(event(m, "FE")->latency - 12.5) < 1e-9);
	assert_true(isnan(event(m, "UOPS")->latency));
	assert_int_equal(event(m, "UNC")->flags, EVENT_UNCORE);
	assert_string_equal(event(m, "UNC")->pmu, "uncore_imc");
	assert_int_equal(model_metric_find(m, "Gone", 4), MODEL_NONE);
	assert_string_equal(m->title, "T");
	model_free(m);
}

/* Texts of one's own over those compiled in, themselves as the base. */
static void overlaid(void **state)
{
	static const char tree[] = "base ivb\nnode Fetch_Latency\nflag > 0.5\n"
				   "node LCP\nabsent\n"
				   "node Mine\nparent Fetch_Latency\nafter ICache_Misses\n"
				   "expr ICache_Misses / 2\n";
	const struct model_text text = { "intel/ivb/tree", tree, sizeof(tree) - 1 };
	const struct model_sources s = { .text = &text, .n_texts = 1 };
	struct err err = ERR_INIT;
	struct model *m;

	(void)state;
	assert_int_equal(model_load(&m, &s, "ivb", NULL, &err), 0);
	assert_string_equal(metric(m, "Fetch_Latency")->threshold_text, "> 0.5");
	assert_string_equal(metric(m, "Fetch_Latency")->file, "models/intel/snb/tree");
	assert_int_equal(model_metric_find(m, "LCP", 3), MODEL_NONE);
	assert_string_equal(metric(m, "frontend_bound.fetch_latency.mine")->name, "Mine");
	assert_int_equal(metric(m, "Mine")->level, 3);
	assert_int_equal(metric(m, "Mine")->order, metric(m, "ICache_Misses")->order + 1);
	assert_int_equal(metric(m, "ITLB_Misses")->order, metric(m, "Mine")->order + 1);
	model_free(m);
}

/* Counts of a real Ivy Bridge with SMT, and what perf printed of them. */
static void real_counts(void **state)
{
	double system[SYSTEM_COUNT], *count;
	struct err err = ERR_INIT;
	struct value *value;
	struct expr_env env;
	struct model *m;

	(void)state;
	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	system[SYSTEM_SMT_ON] = system[SYSTEM_CORE_WIDE] = 1;
	assert_int_equal(model_load(&m, NULL, "ivb", system, &err), 0);
	count = calloc(m->n_events, sizeof(*count));
	value = calloc(m->n_metrics, sizeof(*value));
	assert_true(count && value);
	for (size_t i = 0; i < m->n_events; i++)
		count[i] = NAN;
	for (size_t i = 0; i < MINUTE; i++)
		count[event(m, minute[i].event) - m->event] = minute[i].count;
	env = (struct expr_env){ .count = count, .n_lps = 1, .metric = value, .system = system };
	for (size_t i = 0; i < m->n_metrics; i++)
		value[i] = expr_eval(m->metric[i].expr, &env);
	for (size_t i = 0; i < PRINTED; i++) {
		const struct value *v = &value[metric(m, printed[i].node) - m->metric];

		assert_int_equal(v->why, VALUE_OK);
		if (fabs(100 * v->v - printed[i].percent) > 0.051)
			fail_msg("%s: %.3f, printed %.1f", printed[i].node, 100 * v->v,
				 printed[i].percent);
	}
	/* What was not counted is not known. */
	assert_int_equal(value[metric(m, "L1_Bound") - m->metric].why, VALUE_NOT_COUNTED);
	free(count);
	free(value);
	model_free(m);
}

static void chosen(void **state)
{
	static const struct {
		struct model_cpu cpu;
		const char *id;
	} rows[] = {
		{ { "GenuineIntel", 6, 0x3a, 9, "cpu" }, "ivb" },
		{ { "GenuineIntel", 6, 0x55, 4, "cpu" }, "skx" },
		{ { "GenuineIntel", 6, 0x55, 7, "cpu" }, "clx" },
		{ { "GenuineIntel", 6, 0x55, 11, "cpu" }, "cpx" },
		{ { "GenuineIntel", 6, 0x9e, 9, "cpu" }, "skl" },
		{ { "GenuineIntel", 6, 0x9e, 10, "cpu" }, "cfl" },
		{ { "GenuineIntel", 6, 0x97, 2, "cpu_core" }, "adl-glc" },
		{ { "GenuineIntel", 6, 0x97, 2, "cpu_atom" }, "adl-grt" },
		{ { "GenuineIntel", 6, 0xbe, 0, "cpu" }, "adl-grt" },
		{ { "GenuineIntel", 6, 0xc5, 0, "cpu_lowpower" }, "arl-cmt" },
		{ { "GenuineIntel", 6, 0xc6, 0, "cpu_atom" }, "arl-skt" },
		{ { "GenuineIntel", 18, 1, 0, "cpu_core" }, "nvl-cyc" },
		{ { "GenuineIntel", 19, 1, 0, "cpu" }, "sysfs" },
		{ { "GenuineIntel", 19, 1, 0, "cpu_atom" }, "sysfs-atom" },
		{ { "AuthenticAMD", 23, 0x01, 2, "cpu" }, "zen1" },
		{ { "AuthenticAMD", 23, 0x31, 0, "cpu" }, "zen2" },
		{ { "AuthenticAMD", 25, 0x01, 1, "cpu" }, "zen3" },
		{ { "AuthenticAMD", 25, 0x50, 0, "cpu" }, "zen3" },
		{ { "AuthenticAMD", 25, 0x11, 1, "cpu" }, "zen4" },
		{ { "AuthenticAMD", 25, 0x61, 2, "cpu" }, "zen4" },
		{ { "AuthenticAMD", 26, 0x02, 1, "cpu" }, "zen5" },
		{ { "AuthenticAMD", 26, 0x4f, 0, "cpu" }, "zen5" },
		{ { "AuthenticAMD", 26, 0x50, 0, "cpu" }, "zen6" },
		{ { "AuthenticAMD", 26, 0x57, 0, "cpu" }, "zen6" },
		{ { "AuthenticAMD", 26, 0x58, 0, "cpu" }, "zen5" },
		{ { "ARM", 0x41, 0xd0c, 0x31, "armv8_pmuv3_0" }, "neoverse-n1" },
		{ { "ARM", 0x41, 0xd49, 0, "armv8_pmuv3_0" }, "neoverse-n2-r0p0" },
		{ { "ARM", 0x41, 0xd49, 3, "armv8_pmuv3_0" }, "neoverse-n2" },
		{ { "ARM", 0xc0, 0xac4, 0, "armv8_pmuv3_0" }, "ampereonex" },
		{ { "ARM", 0x41, 0xd81, 0, "armv8_pmuv3_0" }, "arm-generic" },
	};
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	const struct model_cpu none = { "CentaurHauls", 6, 15, 8, "cpu" };
	const struct model_cpu old = { "AuthenticAMD", 21, 2, 0, "cpu" };
	const char *id;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(model_select(&id, &a, NULL, &rows[i].cpu, &err), 0);
		assert_string_equal(id, rows[i].id);
	}
	assert_int_equal(model_select(&id, &a, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	err_clear(&err);
	assert_int_equal(model_select(&id, &a, NULL, &old, &err), -1);
	arena_free(&a);
}

static void by_id(void **state)
{
	static const struct {
		const char *said, *vendor;
		uint32_t family, model, stepping;
	} rows[] = {
		{ "GenuineIntel,6,85,4", "GenuineIntel", 6, 85, 4 },
		{ "AuthenticAMD,25,17", "AuthenticAMD", 25, 17, 9 },
		{ "GenuineIntel,x,85", "GenuineIntel", 0, 9, 9 },
		{ "0x00000000413fd0c1", "ARM", 0x41, 0xd0c, 0x31 },
		{ "GenuineIntel", "unknown", 9, 9, 9 },
		{ NULL, "unknown", 9, 9, 9 },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_cpu cpu = { "unknown", 9, 9, 9, "cpu" };

		assert_int_equal(model_cpu_id(&cpu, &a, rows[i].said), 0);
		assert_string_equal(cpu.vendor, rows[i].vendor);
		assert_int_equal(cpu.family, rows[i].family);
		assert_int_equal(cpu.model, rows[i].model);
		assert_int_equal(cpu.stepping, rows[i].stepping);
	}
	arena_free(&a);
}

/* What the program carries: below 1.5 MB, packed. */
static void small(void **state)
{
	size_t packed = 0, whole = 0;

	(void)state;
	for (size_t i = 0; i < embedded_n_files; i++) {
		packed += embedded_files[i].packed;
		whole += embedded_files[i].size;
	}
	print_message("# %zu files, %zu bytes, packed %zu\n", embedded_n_files, whole, packed);
	assert_true(packed < 1500000);
	assert_true(packed > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_load), cmocka_unit_test(refused),	   cmocka_unit_test(loads),
		cmocka_unit_test(overlaid), cmocka_unit_test(real_counts), cmocka_unit_test(chosen),
		cmocka_unit_test(by_id),    cmocka_unit_test(small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
