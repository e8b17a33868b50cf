/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "minute.h"
#include "tiny.h"

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.17g is not %.17g within %g", got, want, within);
}

/* Ivy Bridge's first two levels, after the TMA sheet. */
static const struct tiny_row ivb[] = {
	{ "CLKS", NULL, 0, "CPU_CLK_UNHALTED.THREAD", NULL, DOMAIN_OTHER, false },
	{ "CORE_CLKS", NULL, 0,
	  "( ( CPU_CLK_UNHALTED.THREAD / 2 ) * ( 1 + CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE / "
	  "CPU_CLK_UNHALTED.REF_XCLK ) ) if #EBS_Mode else ( CPU_CLK_UNHALTED.THREAD_ANY / 2 ) if "
	  "#SMT_on else CLKS",
	  NULL, DOMAIN_OTHER, false },
	{ "SLOTS", NULL, 0, "4 * CORE_CLKS", NULL, DOMAIN_OTHER, false },
	{ "IPC", NULL, 0, "INST_RETIRED.ANY / CLKS", NULL, DOMAIN_OTHER, false },
	{ "Recovery", NULL, 0,
	  "INT_MISC.RECOVERY_CYCLES_ANY / 2 if #SMT_on else INT_MISC.RECOVERY_CYCLES", NULL,
	  DOMAIN_OTHER, false },
	{ "Frontend_Bound", NULL, 1, "IDQ_UOPS_NOT_DELIVERED.CORE / SLOTS", "> 0.15", DOMAIN_SLOTS,
	  false },
	{ "Bad_Speculation", NULL, 1,
	  "( UOPS_ISSUED.ANY - UOPS_RETIRED.RETIRE_SLOTS + 4 * Recovery ) / SLOTS", "> 0.15",
	  DOMAIN_SLOTS, false },
	{ "Retiring", NULL, 1, "UOPS_RETIRED.RETIRE_SLOTS / SLOTS", "(> 0.7 | Heavy_Operations)",
	  DOMAIN_SLOTS, false },
	{ "Backend_Bound", NULL, 1, "1 - ( Frontend_Bound + Bad_Speculation + Retiring )", "> 0.2",
	  DOMAIN_SLOTS, false },
	{ "Fetch_Latency", "Frontend_Bound", 2,
	  "4 * min( CPU_CLK_UNHALTED.THREAD , IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE ) / "
	  "SLOTS",
	  "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Fetch_Bandwidth", "Frontend_Bound", 2, "Frontend_Bound - Fetch_Latency", "> 0.2",
	  DOMAIN_SLOTS, false },
	{ "Branch_Mispredicts", "Bad_Speculation", 2,
	  "BR_MISP_RETIRED.ALL_BRANCHES / ( BR_MISP_RETIRED.ALL_BRANCHES + MACHINE_CLEARS.COUNT ) "
	  "* "
	  "Bad_Speculation",
	  "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Machine_Clears", "Bad_Speculation", 2, "Bad_Speculation - Branch_Mispredicts",
	  "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Heavy_Operations", "Retiring", 2,
	  "UOPS_RETIRED.RETIRE_SLOTS / UOPS_ISSUED.ANY * IDQ.MS_UOPS / SLOTS", "> 0.1",
	  DOMAIN_SLOTS, false },
	{ "Light_Operations", "Retiring", 2, "Retiring - Heavy_Operations", "> 0.6", DOMAIN_SLOTS,
	  false },
	{ "Memory_Bound", "Backend_Bound", 2,
	  "( min( CPU_CLK_UNHALTED.THREAD , CYCLE_ACTIVITY.STALLS_LDM_PENDING ) + "
	  "RESOURCE_STALLS.SB ) / ( min( CPU_CLK_UNHALTED.THREAD , "
	  "CYCLE_ACTIVITY.CYCLES_NO_EXECUTE "
	  ") + UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC - ( UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC if IPC > "
	  "1.8 else UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC ) - ( RS_EVENTS.EMPTY_CYCLES if "
	  "Fetch_Latency > 0.1 else 0 ) + RESOURCE_STALLS.SB ) * Backend_Bound",
	  "> 0.2 & P", DOMAIN_SLOTS, false },
	{ "Core_Bound", "Backend_Bound", 2, "Backend_Bound - Memory_Bound", "> 0.1 & P",
	  DOMAIN_SLOTS, false },
};
enum { IVB = sizeof(ivb) / sizeof(ivb[0]) };

/* As in minute.h, of another minute, and of the first level alone. */
static const struct {
	const char *event;
	double count;
} l1[] = {
	{ "CPU_CLK_UNHALTED.THREAD_ANY", 25404226006 },
	{ "IDQ.MS_UOPS", 4559845014 },
	{ "IDQ_UOPS_NOT_DELIVERED.CORE", 28164693296 },
	{ "INT_MISC.RECOVERY_CYCLES_ANY", 994576232 },
	{ "UOPS_RETIRED.RETIRE_SLOTS", 6928824521 },
	{ "UOPS_ISSUED.ANY", 7641854377 },
};

struct shot {
	struct tiny t;
	double count[TINY_EVENTS], system[SYSTEM_COUNT], quantum[TINY_EVENTS];
	struct tree_counts c;
	struct arena arena;
	struct tree tree;
};

static void shot_init(struct shot *s, const struct tiny_row *rows, size_t n)
{
	memset(s, 0, sizeof(*s));
	tiny_make(&s->t, rows, n);
	for (int i = 0; i < TINY_EVENTS; i++)
		s->count[i] = NAN;
	for (int i = 0; i < SYSTEM_COUNT; i++)
		s->system[i] = NAN;
	s->c = (struct tree_counts){ .count = s->count, .n_lps = 1, .system = s->system };
}

static void shot_free(struct shot *s)
{
	arena_free(&s->arena);
	arena_free(&s->t.m.arena);
}

static void eval(struct shot *s, const bool *wanted)
{
	struct err err = ERR_INIT;

	assert_int_equal(tree_eval(&s->tree, &s->arena, &s->t.m, &s->c, wanted, &err), 0);
}

static const struct tree_node *node(const struct shot *s, const char *name)
{
	uint32_t i = tiny_metric(&s->t, name);

	assert_true(i != MODEL_NONE);
	return &s->tree.node[i];
}

static void count(struct shot *s, const char *event, double v)
{
	s->count[tiny_event(&s->t, event)] = v;
}

/* As perf prints it. */
static void percent(const struct shot *s, const char *name, const char *want)
{
	char got[32];

	(void)snprintf(got, sizeof(got), "%.1f", node(s, name)->shown * 100);
	if (strcmp(got, want))
		fail_msg("%s is %s, not %s", name, got, want);
}

static void ivy_bridge_as_printed(void **state)
{
	struct shot s;

	(void)state;
	shot_init(&s, ivb, IVB);
	s.system[SYSTEM_SMT_ON] = 1;
	s.system[SYSTEM_CORE_WIDE] = 1;
	for (size_t i = 0; i < sizeof(l1) / sizeof(l1[0]); i++)
		count(&s, l1[i].event, l1[i].count);
	eval(&s, NULL);
	percent(&s, "Frontend_Bound", "55.4");
	percent(&s, "Bad_Speculation", "5.3");
	percent(&s, "Retiring", "13.6");
	percent(&s, "Backend_Bound", "25.6");
	assert_int_equal(node(&s, "Memory_Bound")->value.why, VALUE_NOT_COUNTED);
	assert_true(isnan(node(&s, "Memory_Bound")->shown));
	for (size_t i = 0; i < MINUTE; i++)
		count(&s, minute[i].event, minute[i].count);
	eval(&s, NULL);
	percent(&s, "Fetch_Latency", "48.6");
	percent(&s, "Fetch_Bandwidth", "6.9");
	percent(&s, "Branch_Mispredicts", "4.4");
	percent(&s, "Machine_Clears", "0.6");
	percent(&s, "Heavy_Operations", "7.8");
	percent(&s, "Light_Operations", "7.4");
	percent(&s, "Memory_Bound", "18.7");
	percent(&s, "Core_Bound", "5.6");
	assert_true(node(&s, "Frontend_Bound")->path && node(&s, "Fetch_Latency")->path);
	assert_true(node(&s, "Backend_Bound")->over && !node(&s, "Backend_Bound")->path);
	assert_false(node(&s, "Memory_Bound")->over);
	assert_false(node(&s, "Retiring")->over);
	shot_free(&s);
}

/* A counter of level 1 that stays 0 is a suspect, one of level 2 is not. Nodes that depend on a
 * dead counter are doubtful, no others. */
static void zeros_need_a_reason(void **state)
{
	const char *dead[TINY_EVENTS] = { NULL };
	bool suspect[TINY_EVENTS];
	struct shot s;
	uint32_t e;

	(void)state;
	shot_init(&s, ivb, IVB);
	s.system[SYSTEM_SMT_ON] = 1;
	s.system[SYSTEM_CORE_WIDE] = 1;
	for (size_t i = 0; i < MINUTE; i++)
		count(&s, minute[i].event, minute[i].count);
	count(&s, "MACHINE_CLEARS.COUNT", 0);
	eval(&s, NULL);
	assert_int_equal(tree_suspects(&s.tree, &s.c, suspect), 0);
	e = tiny_event(&s.t, "IDQ_UOPS_NOT_DELIVERED.CORE");
	s.count[e] = 0;
	eval(&s, NULL);
	assert_int_equal(tree_suspects(&s.tree, &s.c, suspect), 1);
	assert_true(suspect[e]);
	/* a 0 that was tested is believed */
	assert_int_equal(node(&s, "Frontend_Bound")->doubt, DOUBT_NONE);
	assert_true(node(&s, "Frontend_Bound")->shown == 0);

	dead[e] = "does not count";
	s.c.dead = dead;
	eval(&s, NULL);
	assert_int_equal(node(&s, "Frontend_Bound")->doubt, DOUBT_DEAD);
	assert_int_equal(node(&s, "Frontend_Bound")->against[0], e);
	assert_true(isnan(node(&s, "Frontend_Bound")->shown));
	assert_int_equal(node(&s, "Backend_Bound")->doubt, DOUBT_DEAD);
	assert_false(node(&s, "Backend_Bound")->over || node(&s, "Backend_Bound")->path);
	assert_int_equal(node(&s, "Fetch_Latency")->doubt, DOUBT_PARENT);
	assert_int_equal(node(&s, "Retiring")->doubt, DOUBT_NONE);
	/* one that counts after all is not dead */
	s.count[e] = 1e9;
	eval(&s, NULL);
	assert_int_equal(node(&s, "Frontend_Bound")->doubt, DOUBT_NONE);
	shot_free(&s);
}

static void core_clocks_by_how_it_is_counted(void **state)
{
	struct shot s;

	(void)state;
	shot_init(&s, ivb, IVB);
	count(&s, "CPU_CLK_UNHALTED.THREAD", 1000);
	count(&s, "CPU_CLK_UNHALTED.THREAD_ANY", 1600);
	count(&s, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 30);
	count(&s, "CPU_CLK_UNHALTED.REF_XCLK", 100);
	s.system[SYSTEM_CORE_WIDE] = 1;
	s.system[SYSTEM_SMT_ON] = 0;
	eval(&s, NULL);
	near(node(&s, "CORE_CLKS")->value.v, 1000, 0);
	s.system[SYSTEM_SMT_ON] = 1;
	eval(&s, NULL);
	near(node(&s, "CORE_CLKS")->value.v, 800, 0);
	s.system[SYSTEM_CORE_WIDE] = 0;
	eval(&s, NULL);
	near(node(&s, "CORE_CLKS")->value.v, 650, 1e-9);
	s.system[SYSTEM_CORE_WIDE] = NAN;
	eval(&s, NULL);
	assert_int_equal(node(&s, "CORE_CLKS")->value.why, VALUE_NO_SYSTEM);
	shot_free(&s);
}

static const struct tiny_row ratios[] = {
	{ "Ratio", NULL, 1, "a / b", "> 0.5", DOMAIN_SLOTS, false },
	{ "Rest", NULL, 1, "1 - a / b", "> 0.5", DOMAIN_SLOTS, false },
	{ "Sum", NULL, 0, "a + b", NULL, DOMAIN_OTHER, false },
	{ "Other", NULL, 0, "c / b", NULL, DOMAIN_OTHER, false },
	{ "Step", NULL, 0, "10 if a > 1000 else 20", NULL, DOMAIN_OTHER, false },
};

static void errors_know_the_groups(void **state)
{
	/* a and b of one group rise and fall together: their ratio is better known than each */
	static const double cov[] = { 2500, 5000, 5000, 10000 }, var_c[] = { 900 };
	static const double *const covs[] = { cov, var_c };
	static const uint32_t member[] = { 0, 1, 2 }, first[] = { 0, 2, 3 };
	static const char *const none[] = { NULL, "too short" };
	struct shot s;
	double want;

	(void)state;
	shot_init(&s, ratios, 5);
	count(&s, "a", 1000);
	count(&s, "b", 2000);
	count(&s, "c", 300);
	s.c.member = member;
	s.c.first = first;
	s.c.cov = covs;
	s.c.n_groups = 2;
	eval(&s, NULL);
	near(node(&s, "Ratio")->error, 0, 1e-3);
	near(node(&s, "Rest")->error, 0, 1e-3);
	near(node(&s, "Sum")->error, 1.96 * 150, 0.05);
	want = 1.96 * sqrt(pow(30.0 / 2000, 2) + pow(300.0 * 100 / 2000 / 2000, 2));
	near(node(&s, "Other")->error, want, want * 0.01);
	/* a condition that flips within the error */
	assert_true(node(&s, "Step")->error > 5);
	/* not known is not 0 */
	s.c.no_error = none;
	s.c.cov = (const double *const[]){ cov, NULL };
	eval(&s, NULL);
	assert_true(isnan(node(&s, "Other")->error));
	assert_string_equal(node(&s, "Other")->no_error, "too short");
	assert_null(node(&s, "Sum")->no_error);
	shot_free(&s);
}

static void steps_of_the_metrics_register(void **state)
{
	struct shot s;
	double q;

	(void)state;
	shot_init(&s, ratios, 5);
	count(&s, "a", 1000);
	count(&s, "b", 2550);
	count(&s, "c", 1);
	q = s.quantum[0] = 2550.0 / 255 / 2;
	s.c.quantum = s.quantum;
	eval(&s, NULL);
	near(node(&s, "Ratio")->error, q / 2550, 1e-6);
	near(node(&s, "Other")->error, 0, 0);
	shot_free(&s);
}

static const struct tiny_row parts[] = {
	{ "Whole", NULL, 1, "a / s", "> 0.2", DOMAIN_SLOTS, false },
	{ "Left", NULL, 1, "1 - a / s", "> 0.2", DOMAIN_SLOTS, false },
	{ "One", "Whole", 2, "b / s", "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Two", "Whole", 2, "c / s", "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Stall", "Whole", 2, "d / s", "> 0.1 & P", DOMAIN_CLOCKS, false },
	{ "Wide", "Whole", 2, "e / s", "> 0.1 & P", DOMAIN_SLOTS, true },
	{ "Deep", "One", 3, "f / s", "> 0.05 & P", DOMAIN_SLOTS, false },
	{ "Deeper", "Deep", 4, "g / s", "> 0.05 & P", DOMAIN_SLOTS, false },
};

static void parts_make(struct shot *s, double a, double b, double c, double d, double e, double f)
{
	shot_init(s, parts, sizeof(parts) / sizeof(parts[0]));
	count(s, "s", 1000);
	count(s, "a", a);
	count(s, "b", b);
	count(s, "c", c);
	count(s, "d", d);
	count(s, "e", e);
	count(s, "f", f);
	eval(s, NULL);
}

static void against(const struct shot *s, const char *name, const char *x, const char *y)
{
	const struct tree_node *n = node(s, name);

	assert_true(n->against[0] != MODEL_NONE && n->against[1] != MODEL_NONE);
	assert_string_equal(s->t.event[n->against[0]].name, x);
	assert_string_equal(s->t.event[n->against[1]].name, y);
}

static void doubts_name_the_counters(void **state)
{
	struct shot s;

	(void)state;
	parts_make(&s, 600, 300, 250, 900, 600, 100);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(s.tree.node[i].doubt, DOUBT_NONE);
	near(node(&s, "Stall")->shown, 0.9, 1e-12);
	shot_free(&s);

	/* more than there are slots; what hangs under it says nothing either */
	parts_make(&s, 1300, 300, 250, 100, 0, 100);
	assert_int_equal(node(&s, "Whole")->doubt, DOUBT_OVER);
	against(&s, "Whole", "a", "s");
	assert_int_equal(node(&s, "Left")->doubt, DOUBT_NEGATIVE);
	assert_int_equal(node(&s, "One")->doubt, DOUBT_PARENT);
	assert_int_equal(node(&s, "Deep")->doubt, DOUBT_PARENT);
	assert_true(isnan(node(&s, "Whole")->shown) && isnan(node(&s, "Deep")->shown));
	assert_false(node(&s, "Whole")->over || node(&s, "Whole")->path);
	near(node(&s, "Whole")->value.v, 1.3, 1e-12);
	shot_free(&s);

	/* a part greater than its whole, and parts that are too much together */
	parts_make(&s, 600, 700, 100, 100, 0, 100);
	assert_int_equal(node(&s, "One")->doubt, DOUBT_OVER);
	against(&s, "One", "b", "a");
	assert_int_equal(node(&s, "Two")->doubt, DOUBT_NONE);
	shot_free(&s);
	parts_make(&s, 600, 400, 300, 100, 0, 100);
	assert_int_equal(node(&s, "One")->doubt, DOUBT_CHILDREN);
	assert_int_equal(node(&s, "Two")->doubt, DOUBT_CHILDREN);
	assert_int_equal(node(&s, "Whole")->doubt, DOUBT_NONE);
	assert_int_equal(node(&s, "Stall")->doubt, DOUBT_NONE);
	against(&s, "One", "b", "a");
	shot_free(&s);

	/* a hair over is no doubt, and is shown as what it can be */
	parts_make(&s, 1005, 300, 250, 100, 0, 100);
	near(node(&s, "Whole")->shown, 1, 0);
	near(node(&s, "Left")->shown, 0, 0);
	shot_free(&s);
}

static void within_the_error_is_no_doubt(void **state)
{
	static const double var[] = { 10000 };
	static const double *const covs[] = { var };
	static const uint32_t member[] = { 0 }, first[] = { 0, 1 };
	struct shot s;

	(void)state;
	parts_make(&s, 1150, 300, 250, 100, 0, 100);
	assert_int_equal(node(&s, "Whole")->doubt, DOUBT_OVER);
	assert_int_equal(tiny_event(&s.t, "a"), 0);
	s.c.member = member;
	s.c.first = first;
	s.c.cov = covs;
	s.c.n_groups = 1;
	eval(&s, NULL);
	assert_int_equal(node(&s, "Whole")->doubt, DOUBT_NONE);
	near(node(&s, "Whole")->shown, 1, 0);
	near(node(&s, "Whole")->error, 0.196, 1e-3);
	shot_free(&s);
}

static void the_path_stops_where_two_are_alike(void **state)
{
	struct shot s;
	bool open[8];

	(void)state;
	/* Wide overlaps, so One leads */
	parts_make(&s, 700, 400, 200, 0, 650, 300);
	assert_true(node(&s, "Whole")->path && node(&s, "One")->path && node(&s, "Deep")->path);
	assert_false(node(&s, "Wide")->path || node(&s, "Two")->path);
	tree_open(&s.tree, open);
	assert_true(open[tiny_metric(&s.t, "Whole")] && open[tiny_metric(&s.t, "One")] &&
		    open[tiny_metric(&s.t, "Deep")]);
	assert_false(open[tiny_metric(&s.t, "Two")] || open[tiny_metric(&s.t, "Left")]);
	shot_free(&s);
	parts_make(&s, 700, 320, 300, 0, 0, 300);
	assert_true(node(&s, "Whole")->path);
	assert_false(node(&s, "One")->path || node(&s, "Deep")->path);
	assert_true(node(&s, "One")->tie && node(&s, "Two")->tie);
	assert_false(node(&s, "Whole")->tie || node(&s, "Deep")->tie);
	shot_free(&s);
	/* under its threshold by less than can be told: its parts are worth a look */
	parts_make(&s, 180, 160, 0, 0, 0, 100);
	assert_false(node(&s, "Whole")->over);
	tree_open(&s.tree, open);
	assert_false(open[tiny_metric(&s.t, "Whole")]);
	{
		static const double var[] = { 400 };
		static const double *const covs[] = { var };
		static const uint32_t member[] = { 0 }, first[] = { 0, 1 };

		s.c.member = member;
		s.c.first = first;
		s.c.cov = covs;
		s.c.n_groups = 1;
	}
	eval(&s, NULL);
	tree_open(&s.tree, open);
	assert_true(open[tiny_metric(&s.t, "Whole")] && open[tiny_metric(&s.t, "One")]);
	assert_false(node(&s, "Whole")->over || node(&s, "One")->over);
	shot_free(&s);
}

static void wanted_alone_is_evaluated(void **state)
{
	bool wanted[IVB] = { false };
	struct shot s;

	(void)state;
	shot_init(&s, ivb, IVB);
	s.system[SYSTEM_SMT_ON] = 1;
	s.system[SYSTEM_CORE_WIDE] = 1;
	for (size_t i = 0; i < MINUTE; i++)
		count(&s, minute[i].event, minute[i].count);
	wanted[tiny_metric(&s.t, "IPC")] = true;
	eval(&s, wanted);
	near(node(&s, "IPC")->value.v, 3959711240.0 / 22487132522.0, 1e-12);
	assert_int_equal(node(&s, "CLKS")->value.why, VALUE_OK);
	assert_int_equal(node(&s, "Memory_Bound")->value.why, VALUE_ABSENT);
	shot_free(&s);
}

static double draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Whatever is counted, what is shown is a share. */
static void random_counts_show_no_nonsense(void **state)
{
	uint64_t seed = 7;
	struct shot s;
	size_t shown = 0;

	(void)state;
	shot_init(&s, ivb, IVB);
	s.system[SYSTEM_SMT_ON] = 1;
	s.system[SYSTEM_CORE_WIDE] = 1;
	for (int round = 0; round < 20000; round++) {
		double spread = draw(&seed) < 0.5 ? 0.4 : 6;

		for (size_t i = 0; i < MINUTE; i++)
			count(&s, minute[i].event,
			      draw(&seed) < 0.01 ? NAN
			      : draw(&seed) < 0.02
				      ? 0
				      : minute[i].count * exp(spread * (draw(&seed) - 0.5)));
		eval(&s, NULL);
		for (uint32_t i = 0; i < s.tree.n; i++) {
			const struct tree_node *n = &s.tree.node[i];
			double sum = 0;

			if (!s.t.metric[i].level || isnan(n->shown))
				continue;
			shown++;
			assert_true(n->shown >= 0 && n->shown <= 1);
			for (uint32_t k = 0; k < s.tree.n; k++)
				if (s.t.metric[k].parent == i && !isnan(s.tree.node[k].shown))
					sum += s.tree.node[k].shown;
			assert_true(sum <= n->shown + 2 * TREE_SLACK);
		}
		arena_free(&s.arena);
	}
	assert_true(shown > 20000);
	shot_free(&s);
}

/* A latency with a known error gives an error bar, one that nobody measured here gives none. */
/* The last run went into One; on average Two has more. */
static void means_have_a_path_of_their_own(void **state)
{
	struct tree_node n[sizeof(parts) / sizeof(parts[0])];
	struct shot s;

	(void)state;
	parts_make(&s, 700, 400, 200, 0, 0, 300);
	memcpy(n, s.tree.node, sizeof(n));
	s.tree.node = n;
	assert_true(node(&s, "One")->path && node(&s, "Deep")->path);
	n[tiny_metric(&s.t, "One")].value.v = n[tiny_metric(&s.t, "One")].shown = 0.2;
	n[tiny_metric(&s.t, "Two")].value.v = n[tiny_metric(&s.t, "Two")].shown = 0.4;
	n[tiny_metric(&s.t, "Deep")].value.v = n[tiny_metric(&s.t, "Deep")].shown = 0.1;
	n[tiny_metric(&s.t, "One")].error = n[tiny_metric(&s.t, "Two")].error = 0.05;
	tree_judge_means(&s.t.m, n);
	assert_true(node(&s, "Whole")->path && node(&s, "Two")->path);
	assert_false(node(&s, "One")->path || node(&s, "Deep")->path);
	/* alike within their errors */
	n[tiny_metric(&s.t, "One")].error = n[tiny_metric(&s.t, "Two")].error = 0.3;
	tree_judge_means(&s.t.m, n);
	assert_true(node(&s, "Whole")->path);
	assert_false(node(&s, "One")->path || node(&s, "Two")->path);
	assert_true(node(&s, "One")->tie && node(&s, "Two")->tie);
	/* not over in most runs */
	n[tiny_metric(&s.t, "Whole")].over = false;
	tree_judge_means(&s.t.m, n);
	assert_false(node(&s, "Whole")->path);
	shot_free(&s);
}

static void latencies_of_unknown_error(void **state)
{
	static const struct tiny_row rows[] = {
		{ "CLKS", NULL, 0, "CYCLES", NULL, DOMAIN_OTHER, false },
		{ "Locks", NULL, 1, "LOADS * $PEBS / CLKS", "> 0.1", DOMAIN_SLOTS, false },
		{ "Other", NULL, 1, "LOADS / CLKS", "> 0.1", DOMAIN_SLOTS, false },
	};
	double latency[TINY_EVENTS], se[TINY_EVENTS];
	struct shot s;

	(void)state;
	shot_init(&s, rows, 3);
	count(&s, "CYCLES", 1e9);
	count(&s, "LOADS", 1e7);
	for (int i = 0; i < TINY_EVENTS; i++)
		latency[i] = se[i] = NAN;
	latency[tiny_event(&s.t, "LOADS")] = 20;
	s.c.latency = latency;
	s.c.latency_se = se;
	eval(&s, NULL);
	near(node(&s, "Locks")->value.v, 0.2, 1e-9);
	assert_true(isnan(node(&s, "Locks")->error));
	assert_non_null(node(&s, "Locks")->no_error);
	assert_null(node(&s, "Other")->no_error);
	se[tiny_event(&s.t, "LOADS")] = 1;
	eval(&s, NULL);
	assert_null(node(&s, "Locks")->no_error);
	near(node(&s, "Locks")->error, 1.96 * 0.01, 1e-3);
	shot_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ivy_bridge_as_printed),
		cmocka_unit_test(zeros_need_a_reason),
		cmocka_unit_test(core_clocks_by_how_it_is_counted),
		cmocka_unit_test(errors_know_the_groups),
		cmocka_unit_test(steps_of_the_metrics_register),
		cmocka_unit_test(doubts_name_the_counters),
		cmocka_unit_test(within_the_error_is_no_doubt),
		cmocka_unit_test(the_path_stops_where_two_are_alike),
		cmocka_unit_test(means_have_a_path_of_their_own),
		cmocka_unit_test(wanted_alone_is_evaluated),
		cmocka_unit_test(latencies_of_unknown_error),
		cmocka_unit_test(random_counts_show_no_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
