/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns replayed on loads that come in bursts, without a clock: each group sees its slices, and
 * what there was must be within the bar of what they say, 95 times of 100.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "monitor/monitor_rotation.h"

#define MS     1000000.0
#define SECOND 1000000000u
#define RUNS   400
#define GROUPS 3
#define BURSTS 1000

static uint64_t state;

/* 0 to 1 */
static double chance(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) * 0x1p-53;
}

struct load { /* a rate that changes: count per ns */
	double end[BURSTS], rate[BURSTS];
	size_t n;
};

struct kind {
	const char *name;
	double least, most; /* ms of a burst, and of what is between two */
	double low, high;
	unsigned groups, rounds;
	double late; /* of a slice: how much later than due it ends, on average */
	double bar;  /* relative; the mean one must be smaller */
	double kept; /* share of bars that hold what there was; 1200 leave 0.6 % to chance */
};

static void make_load(struct load *l, const struct kind *k)
{
	double at = -chance() * k->most * MS;
	bool high = chance() < 0.5;

	for (l->n = 0; l->n < BURSTS && at < SECOND; l->n++) {
		at += (k->least + chance() * (k->most - k->least)) * MS;
		l->end[l->n] = at;
		l->rate[l->n] = high ? k->high : k->low;
		high = !high;
	}
	assert_true(at >= SECOND);
}

static double count(const struct load *l, double from, double to)
{
	double sum = 0, begin = from;

	for (size_t i = 0; i < l->n && begin < to; i++) {
		double end = fmin(l->end[i], to);

		if (end <= begin)
			continue;
		sum += (end - begin) * l->rate[i];
		begin = end;
	}
	return sum;
}

/* An interval of a second as monitor_read() goes through it. */
static void replay(struct rotation *t, const struct load *l, const struct kind *k,
		   struct seen *seen)
{
	uint64_t now = 0;

	memset(t->spent, 0, GROUPS * sizeof(*t->spent));
	memset(seen, 0, GROUPS * sizeof(*seen));
	t->since = 0;
	while (now < SECOND) {
		uint64_t end = now + rotation_length(t);

		if (k->late > 0)
			end += (uint64_t)(-log(1 - chance()) * k->late * (double)t->step);
		if (end + t->step / 2 > SECOND)
			end = SECOND;
		seen_add(&seen[t->now], count(l, (double)now, (double)end), (double)(end - now));
		now = end;
		t->now = rotation_next(t, now);
	}
}

static const struct kind kinds[] = {
	{ "steady", 7, 31, 1, 1, 3, 4, 0, 1e-6, 0.95 },
	{ "steady, late", 7, 31, 1, 1, 3, 2, 0.5, 1e-6, 0.95 },
	{ "short bursts", 2, 10, 0.2, 1.8, 3, 4, 0, 0.2, 0.95 },
	{ "short bursts, two groups", 2, 10, 0.2, 1.8, 2, 2, 0, 0.4, 0.95 },
	{ "bursts", 7, 31, 0.2, 1.8, 3, 4, 0, 0.4, 0.95 },
	{ "bursts, late", 7, 31, 0.2, 1.8, 3, 4, 0.3, 0.5, 0.95 },
	{ "bursts, two slices each", 7, 31, 0.2, 1.8, 3, 2, 0, 1, 0.95 },
	{ "bursts, two slices each, late", 7, 31, 0.2, 1.8, 3, 2, 0.3, 1, 0.95 },
	{ "bursts, two groups", 7, 31, 0.2, 1.8, 2, 2, 0, 0.8, 0.95 },
	{ "bursts, sixteen slices", 7, 31, 0.2, 1.8, 3, 16, 0, 0.25, 0.94 },
	{ "long bursts, sixteen slices", 50, 300, 0.2, 1.8, 2, 16, 0, 0.35, 0.95 },
	{ "the period of short turns", 31, 32, 0.2, 1.8, 3, 16, 0, 0.4, 0.93 },
	{ "rare peaks", 7, 31, 0.01, 5, 3, 4, 0, 0.6, 0.95 },
	{ "as long as a slice", 80, 86, 0.2, 1.8, 3, 4, 0, 1, 0.94 },
	{ "the period of the turns", 125, 126, 0.2, 1.8, 3, 4, 0, 1.5, 0.94 },
	{ "the period of the turns, late", 125, 126, 0.2, 1.8, 3, 4, 0.3, 1.5, 0.94 },
	{ "the period of two turns", 250, 251, 0.2, 1.8, 2, 2, 0, 3, 0.95 },
	{ "long bursts", 20, 120, 0.2, 1.8, 3, 4, 0, 1.2, 0.95 },
	{ "long bursts, late", 20, 120, 0.2, 1.8, 3, 4, 0.3, 1.5, 0.95 },
	{ "longer bursts", 50, 300, 0.2, 1.8, 3, 4, 0, 2, 0.95 },
};

static void test_bars(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind *k = &kinds[i];
		uint64_t spent[GROUPS];
		struct rotation t = { .n = k->groups,
				      .spent = spent,
				      .step = SECOND / (k->rounds * k->groups) };
		size_t n = 0, inside = 0;
		double bars = 0;

		state = i + 1;
		for (int run = 0; run < RUNS; run++) {
			struct seen seen[GROUPS];
			struct pool pool = { 0 };
			struct load l;
			double truth;

			make_load(&l, k);
			truth = count(&l, 0, SECOND);
			replay(&t, &l, k, seen);
			for (size_t g = 0; g < k->groups; g++)
				if (seen[g].n > 1 && seen[g].sum > 0)
					pool_add(&pool, seen_spread(&seen[g]), seen[g].n);
			for (size_t g = 0; g < k->groups; g++) {
				double rate, half;

				if (!seen[g].n)
					continue;
				rate = seen[g].sum / seen[g].ns;
				half = seen_half(&seen[g], &pool, seen[g].ns / SECOND);
				if (isnan(half))
					continue;
				n++;
				inside +=
					fabs(rate * SECOND - truth) <= half * SECOND + 1e-9 * truth;
				bars += half * SECOND / truth;
			}
		}
		print_message("# %s: %.1f %% of %zu within %.2f\n", k->name,
			      100.0 * (double)inside / (double)n, n, bars / (double)n);
		assert_true(n > RUNS * k->groups * 4 / 5);
		assert_true((double)inside >= k->kept * (double)n);
		assert_true(bars / (double)n < k->bar);
	}
}

/* Who is next is drawn: bursts that come as often as turns do would else meet one group. None comes
 * that had a turn and a half more than another. */
static void test_order(void **state_)
{
	uint64_t spent[GROUPS] = { 0 }, now = 0, others = 0;
	struct rotation t = { .n = 3, .spent = spent, .step = 1000000, .chance = 11 };

	(void)state_;
	for (int turn = 0; turn < 3000; turn++) {
		uint64_t least = UINT64_MAX;

		now += rotation_length(&t);
		t.now = rotation_next(&t, now);
		for (size_t g = 0; g < t.n; g++)
			least = spent[g] < least ? spent[g] : least;
		assert_true(spent[t.now] <= least + 3 * t.step / 2);
		others += spent[t.now] > least;
	}
	assert_in_range(others, 300, 2700);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bars),
					    cmocka_unit_test(test_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
