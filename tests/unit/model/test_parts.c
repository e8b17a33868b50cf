/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes and groups that count for a part of the time: what is counted of it, what random moments
 * stand for, and what bounds say.
 */
#include "model/slices.h"
#include "tiny.h"

#define MS 1000000ull

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.17g is not %.17g within %g", got, want, within);
}

/* ---- slices ----------------------------------------------------------------------------- */

struct group { /* one event, always on a counter while it is on */
	uint64_t value, on;
};

struct timeline {
	struct slices *s;
	uint64_t now, always;
	struct group part;
	enum slices_state state;
};

static const uint32_t always[] = { 0 }, partly[] = { 1 };

static void start(struct timeline *t)
{
	const struct slices_group group[] = { { always, 1, NULL }, { partly, 1, NULL } };
	const struct slices_setup setup = { group, 2, 2, 1, 0, 0 };
	struct err err = ERR_INIT;

	memset(t, 0, sizeof(*t));
	assert_int_equal(slices_new(&t->s, &setup, &err), 0);
}

static void to(struct timeline *t, enum slices_state state)
{
	struct err err = ERR_INIT;

	assert_int_equal(slices_switch(t->s, 1, t->now * MS, state, &err), 0);
	t->state = state;
}

/* So many slices of 10 ms; counts per ms. */
static void pass(struct timeline *t, unsigned slices, uint64_t a, uint64_t b)
{
	for (unsigned i = 0; i < slices; i++) {
		struct slices_reading r;
		struct err err = ERR_INIT;

		t->now += 10;
		t->always += 10 * a;
		r = (struct slices_reading){ t->always, t->now * MS, t->now * MS, false };
		assert_int_equal(slices_add(t->s, 0, t->now * MS, &r, &err), 0);
		if (t->state == SLICES_OFF)
			continue;
		t->part.value += 10 * b;
		t->part.on += 10 * MS;
		r = (struct slices_reading){ t->part.value, t->part.on, t->part.on, false };
		assert_int_equal(slices_add(t->s, 1, t->now * MS, &r, &err), 0);
	}
}

/* A stretch of so many slices in one state. */
struct stretch {
	enum slices_state state;
	unsigned slices;
	uint64_t a, b;
};

static void play(struct timeline *t, const struct stretch *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].state != t->state)
			to(t, v[i].state);
		pass(t, v[i].slices, v[i].a, v[i].b);
	}
}

#define PLAY(t, ...)                                                \
	do {                                                        \
		static const struct stretch v_[] = { __VA_ARGS__ }; \
                                                                    \
		play((t), v_, sizeof(v_) / sizeof(v_[0]));          \
	} while (0)

static void counts_of(struct timeline *t, struct arena *a, struct tree_counts *c)
{
	struct err err = ERR_INIT;

	memset(c, 0, sizeof(*c));
	assert_int_equal(slices_catch_up(t->s, &err), 0);
	assert_int_equal(slices_counts(t->s, a, 0, UINT64_MAX, c, &err), 0);
}

/* 100 ms of 10 a ms while it is on, then 200 ms of 2 a ms while it is off, but for two visits. */
static void visits_stand_for_the_time_off(void **state)
{
	struct timeline t;
	struct arena a = ARENA_INIT;
	struct slices_seen seen;
	struct tree_counts c;
	struct err err = ERR_INIT;

	(void)state;
	start(&t);
	PLAY(&t, { SLICES_ON, 10, 7, 10 }, { SLICES_OFF, 5, 7, 0 }, { SLICES_VISIT, 1, 7, 2 },
	     { SLICES_OFF, 8, 7, 0 }, { SLICES_VISIT, 1, 7, 2 }, { SLICES_OFF, 5, 7, 0 });
	counts_of(&t, &a, &c);
	near(c.count[0], 2100, 1e-6);
	near(c.count[1], 10 * 100 + 2 * 200, 1e-6);
	near(c.counted[1], 120.0 / 300, 1e-6);
	slices_when_seen(t.s, partly, 1, 0, UINT64_MAX, &seen);
	near(seen.time, 120e6, 1);
	near(seen.all, 300e6, 1);
	assert_int_equal(seen.visits, 2);
	memset(&c, 0, sizeof(c));
	assert_int_equal(slices_counts_when(t.s, &a, partly, 1, 0, UINT64_MAX, &c, &err), 0);
	near(c.count[0], 7 * 120, 1e-6);
	near(c.count[1], 10 * 100 + 2 * 20, 1e-6);
	arena_free(&a);
	slices_free(t.s);
}

/* Each of two visits stands for the time around it. */
static void a_visit_stands_for_its_own_time(void **state)
{
	struct timeline t;
	struct arena a = ARENA_INIT;
	struct tree_counts c;

	(void)state;
	start(&t);
	PLAY(&t, { SLICES_OFF, 1, 1, 0 }, { SLICES_VISIT, 1, 1, 4 }, { SLICES_OFF, 10, 1, 0 },
	     { SLICES_VISIT, 1, 1, 8 }, { SLICES_OFF, 7, 1, 0 });
	counts_of(&t, &a, &c);
	near(c.count[1], 4 * (10 + 10 + 50) + 8 * (50 + 10 + 70), 1e-6);
	arena_free(&a);
	slices_free(t.s);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static const struct tiny_row rows[] = {
	{ "Whole", NULL, 1, "a / s", "> 0.1", DOMAIN_SLOTS, false },
	{ "Left", NULL, 1, "1 - a / s", "> 0.1", DOMAIN_SLOTS, false },
	{ "One", "Whole", 2, "b / s", "> 0.1 & P", DOMAIN_SLOTS, false },
	{ "Two", "Whole", 2, "c / s", "> 0.1 & P", DOMAIN_SLOTS, false },
};

struct shot {
	struct tiny t;
	double count[TINY_EVENTS], share[TINY_EVENTS], system[SYSTEM_COUNT];
	struct tree_counts c;
	struct tree_maker *maker;
	struct tree tree;
	uint32_t child[2];
	double value[2], error[2];
	struct tree_part part;
};

static void shot_init(struct shot *x, double whole, double one, double two)
{
	static const char *const event[] = { "s", "a", "b", "c" };
	const double count[] = { 1000, 1000 * whole, 1000 * one, 1000 * two };
	struct err err = ERR_INIT;

	memset(x, 0, sizeof(*x));
	tiny_make(&x->t, rows, sizeof(rows) / sizeof(rows[0]));
	for (int i = 0; i < SYSTEM_COUNT; i++)
		x->system[i] = NAN;
	for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); i++) {
		uint32_t e = tiny_event(&x->t, event[i]);

		x->count[e] = count[i];
		x->share[e] = i < 2 ? 1 : 0.25; /* s and a always count */
	}
	x->c = (struct tree_counts){
		.count = x->count, .n_lps = 1, .counted = x->share, .system = x->system
	};
	x->child[0] = tiny_metric(&x->t, "One");
	x->child[1] = tiny_metric(&x->t, "Two");
	x->part = (struct tree_part){ .under = tiny_metric(&x->t, "Whole"),
				      .metric = x->child,
				      .value = x->value,
				      .error = x->error,
				      .n = 2 };
	assert_int_equal(tree_maker_new(&x->maker, &x->t.m, NULL, &err), 0);
}

static void make(struct shot *x)
{
	struct err err = ERR_INIT;

	assert_int_equal(tree_make_parts(&x->tree, x->maker, &x->c, &x->part, 1, &err), 0);
}

static const struct tree_node *node(const struct shot *x, const char *name)
{
	return &x->tree.node[tiny_metric(&x->t, name)];
}

static void shot_free(struct shot *x)
{
	tree_maker_free(x->maker);
	arena_free(&x->t.m.arena);
}

/* A quarter of the run was seen, in which the whole had 40 % and One all of it; in the rest it had
 * (25 % - 10 %). That is all that is known, whatever the counts of One are taken for. */
static void without_visits_the_parent_bounds(void **state)
{
	double low, high;
	struct shot x;

	(void)state;
	shot_init(&x, 0.25, 0.9, 0);
	x.part.weight = 0.25;
	x.part.under_seen = 0.4;
	x.value[0] = 0.4;
	make(&x);
	near(node(&x, "One")->shown, 0.1 + 0.15 / 2, 1e-9);
	near(node(&x, "One")->error, 0.15 / 2, 1e-9);
	near(node(&x, "One")->unseen, 0.15 / 2, 1e-9);
	near(node(&x, "One")->open, 0.4, 1e-9); /* while it was seen */
	assert_true(tree_open_differs(node(&x, "One")));
	assert_false(tree_open_differs(node(&x, "Two"))); /* 0 is within its bar */
	assert_true(isnan(node(&x, "Whole")->open));
	near(node(&x, "Two")->shown, 0.15 / 2, 1e-9);
	near(node(&x, "Two")->error, 0.15 / 2, 1e-9);
	near(node(&x, "Whole")->error, 0, 1e-9);
	/* and no middle of it is a measurement */
	assert_true(tree_bound(node(&x, "One"), &low, &high));
	near(low, 0.1, 1e-9);
	near(high, 0.25, 1e-9);
	assert_true(tree_bound(node(&x, "Two"), &low, &high));
	near(low, 0, 1e-9);
	near(high, 0.15, 1e-9);
	assert_false(tree_bound(node(&x, "Whole"), &low, &high));
	shot_free(&x);
}

/* Visits bring it to what they say, and the bar to 0 as their number grows. */
static void visits_take_over(void **state)
{
	struct shot x;
	double last = 1, low, high;

	(void)state;
	shot_init(&x, 0.25, 0.22, 0);
	x.part.weight = 0.25;
	x.part.under_seen = 0.4;
	x.value[0] = 0.4;
	for (x.part.visits = 1; x.part.visits < 5000; x.part.visits *= 4) {
		make(&x);
		assert_true(node(&x, "One")->error < last);
		assert_true(fabs(node(&x, "One")->shown - 0.22) <= node(&x, "One")->error);
		last = node(&x, "One")->error;
	}
	near(node(&x, "One")->shown, 0.22, 1e-3);
	assert_false(tree_bound(node(&x, "One"), &low, &high)); /* visits measured it */
	assert_true(last < 1e-3);
	shot_free(&x);
}

/* Parts that were seen apart say more than there is: they are made to fit, and the bar says so. */
static void parts_stay_within_the_whole(void **state)
{
	struct shot x;

	(void)state;
	shot_init(&x, 0.25, 0.25, 0.2);
	x.part.weight = 0.25;
	x.part.under_seen = 0.4;
	x.part.visits = 1000;
	x.value[0] = 0.4;
	x.value[1] = 0.1;
	make(&x);
	near(node(&x, "One")->shown + node(&x, "Two")->shown, 0.25, 1e-9);
	assert_true(node(&x, "Two")->error > 0.02);
	assert_int_equal(node(&x, "One")->doubt, DOUBT_NONE);
	shot_free(&x);
}

/* What the whole had in the rest is not known well: nothing, within 5 %. Its parts have no share of
 * what it may have had at most. */
static void the_error_of_the_parent_is_nobodys_share(void **state)
{
	const double variance = 30 * 30, *const cov[] = { &variance };
	static const uint32_t first[] = { 0, 1 };
	uint32_t member[1];
	struct shot x;

	(void)state;
	shot_init(&x, 0.25, 0.25, 0);
	member[0] = tiny_event(&x.t, "a");
	x.c.member = member;
	x.c.first = first;
	x.c.cov = cov;
	x.c.n_groups = 1;
	x.part.weight = 0.25;
	x.part.under_seen = 1;
	x.value[0] = 1;
	make(&x);
	near(node(&x, "Whole")->error, 1.959964 * 0.03, 1e-6);
	near(node(&x, "One")->shown, 0.25, 1e-9);
	near(node(&x, "Two")->shown, 0, 1e-9);
	near(node(&x, "Two")->error, sqrt(0.75) * 1.959964 * 0.03, 1e-6);
	shot_free(&x);
}

static void intervals_end_while_it_is_off(void **state)
{
	struct timeline t;
	struct arena a = ARENA_INIT;
	struct tree_counts c = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	start(&t);
	PLAY(&t, { SLICES_ON, 2, 1, 3 }, { SLICES_OFF, 5, 1, 0 }, { SLICES_VISIT, 1, 1, 5 },
	     { SLICES_OFF, 2, 1, 0 });
	counts_of(&t, &a, &c); /* the first ends here */
	near(c.count[1], 3 * 20 + 5 * 80, 1e-6);
	PLAY(&t, { SLICES_OFF, 4, 1, 0 }, { SLICES_VISIT, 1, 1, 9 }, { SLICES_OFF, 5, 1, 0 });
	assert_int_equal(slices_catch_up(t.s, &err), 0);
	assert_int_equal(slices_counts(t.s, &a, 100 * MS, 200 * MS, &c, &err), 0);
	near(c.count[0], 100, 1e-6);
	near(c.count[1], 9 * 100, 1e-6);
	arena_free(&a);
	slices_free(t.s);
}

/* A node of what always counts is known, whatever hangs beside it. */
static void what_always_counts_is_left_alone(void **state)
{
	struct shot x;

	(void)state;
	shot_init(&x, 0.25, 0.1, 0.15);
	x.share[tiny_event(&x.t, "c")] = 1;
	x.part.weight = 0.25;
	x.part.under_seen = 0.4;
	x.value[0] = 0.1;
	x.value[1] = 0.3;
	make(&x);
	near(node(&x, "Two")->shown, 0.15, 1e-9);
	near(node(&x, "Two")->error, 0, 1e-9);
	assert_true(node(&x, "One")->error > 0.05);
	shot_free(&x);
}

static void never_seen_is_not_measured(void **state)
{
	struct shot x;

	(void)state;
	shot_init(&x, 0.25, 0.2, 0.2);
	x.part.never = true;
	x.part.event = tiny_event(&x.t, "b");
	make(&x);
	assert_int_equal(node(&x, "One")->value.why, VALUE_NOT_COUNTED);
	assert_true(isnan(node(&x, "One")->shown) && isnan(node(&x, "Two")->shown));
	near(node(&x, "Whole")->shown, 0.25, 1e-9);
	shot_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visits_stand_for_the_time_off),
		cmocka_unit_test(intervals_end_while_it_is_off),
		cmocka_unit_test(a_visit_stands_for_its_own_time),
		cmocka_unit_test(without_visits_the_parent_bounds),
		cmocka_unit_test(visits_take_over),
		cmocka_unit_test(parts_stay_within_the_whole),
		cmocka_unit_test(the_error_of_the_parent_is_nobodys_share),
		cmocka_unit_test(what_always_counts_is_left_alone),
		cmocka_unit_test(never_seen_is_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
