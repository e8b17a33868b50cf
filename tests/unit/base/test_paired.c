/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wilcoxon's signed-rank test against the published critical values, its interval by sorting all
 * means of two, and how much is found against closed forms and drawn experiments.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/estimate.h"
#include "base/num.h"
#include "base/paired.h"

static void near_to(double a, double b, double within)
{
	assert_true(fabs(a - b) <= within);
}

/* Differences of the sizes 1..n, of which those below 0 have ranks that add up to `w`. */
static void with_sum(double *d, size_t n, size_t w)
{
	for (size_t rank = n; rank > 0; rank--) {
		bool minus = rank <= w;

		d[rank - 1] = minus ? -(double)rank : (double)rank;
		w -= minus ? rank : 0;
	}
	assert_int_equal(w, 0);
}

static double chance_of(size_t n, size_t w, bool turned)
{
	struct err err = ERR_INIT;
	struct paired p;
	double d[200];

	with_sum(d, n, w);
	for (size_t i = 0; i < n && turned; i++)
		d[i] = -d[i];
	assert_int_equal(paired_effect(&p, d, n, &err), 0);
	assert_int_equal(p.n, n);
	if (n >= PAIRED_LEAST) /* the interval is the same test */
		assert_int_equal(p.low > 0 || p.high < 0, p.chance < 0.05);
	return p.chance;
}

/* The largest sums that are significant, two-sided, at 5 % and 1 %; -1: none is. */
static void published(void **state)
{
	static const struct {
		size_t n;
		int at5, at1;
	} row[] = {
		{ 5, -1, -1 },	{ 6, 0, -1 },	{ 7, 2, -1 },	  { 8, 3, 0 },	  { 9, 5, 1 },
		{ 10, 8, 3 },	{ 11, 10, 5 },	{ 12, 13, 7 },	  { 13, 17, 9 },  { 14, 21, 12 },
		{ 15, 25, 15 }, { 16, 29, 19 }, { 17, 34, 23 },	  { 18, 40, 27 }, { 19, 46, 32 },
		{ 20, 52, 37 }, { 25, 89, 68 }, { 30, 137, 109 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (int turned = 0; turned < 2; turned++) {
			size_t at5 = (size_t)(row[i].at5 + 1), at1 = (size_t)(row[i].at1 + 1);

			if (row[i].at5 >= 0)
				assert_true(chance_of(row[i].n, at5 - 1, turned) < 0.05);
			assert_true(chance_of(row[i].n, at5, turned) >= 0.05);
			if (row[i].at1 >= 0)
				assert_true(chance_of(row[i].n, at1 - 1, turned) < 0.01);
			assert_true(chance_of(row[i].n, at1, turned) >= 0.01);
		}
	near_to(chance_of(5, 0, false), 2.0 / 32, 1e-15);
	near_to(chance_of(10, 4, true), 2.0 * 7 / 1024, 1e-15); /* 1+1+1+2+2 sets */
	near_to(chance_of(3, 3, false), 1, 1e-15);
}

/* Where ranks are no longer counted out: by counting them here. */
static void many_pairs(void **state)
{
	enum { N = 120, MOST = N * (N + 1) / 2 };
	double *way = calloc(MOST + 1, sizeof(*way)), sum = 0;

	(void)state;
	assert_non_null(way);
	way[0] = 1;
	for (size_t r = 1; r <= N; r++)
		for (size_t w = MOST + 1; w-- > 0;)
			way[w] = way[w] / 2 + (w >= r ? way[w - r] / 2 : 0);
	for (size_t w = 0; w < MOST / 2; w++) {
		sum += way[w];
		if (w % 97 == 0 && sum > 1e-6) {
			double chance = chance_of(N, w, w % 2);

			assert_true(chance > 1.9 * sum && chance < 4 * sum);
			if (sum > 0.005)
				near_to(chance, 2 * sum, 0.002 + 0.01 * sum);
		}
	}
	free(way);
}

/* Ends of the interval: as many means lie outside as the critical value says. */
static void interval(void **state)
{
	static const size_t outside[] = { 1, 3, 4, 6, 9 }; /* of 6 to 10 pairs, and one */
	uint32_t seed = 1;

	(void)state;
	for (size_t n = 6; n <= 10; n++)
		for (int trial = 0; trial < 50; trial++) {
			double d[10], mean[55];
			struct err err = ERR_INIT;
			struct paired p;
			size_t k = 0;

			for (size_t i = 0; i < n; i++)
				d[i] = (double)((seed = seed * 1664525 + 1013904223) >> 12) / 1e5;
			for (size_t i = 0; i < n; i++)
				for (size_t j = 0; j <= i; j++)
					mean[k++] = d[i] / 2 + d[j] / 2;
			qsort(mean, k, sizeof(*mean), num_order);
			assert_int_equal(paired_effect(&p, d, n, &err), 0);
			near_to(p.low, mean[outside[n - 6] - 1], 1e-9);
			near_to(p.high, mean[k - outside[n - 6]], 1e-9);
			near_to(p.effect, (mean[(k - 1) / 2] + mean[k / 2]) / 2, 1e-9);
		}
}

/* Differences of 0, and pairs of opposite ones: means of 0 speak against either direction. */
static void ties(void **state)
{
	static const double none[7] = { 0 }, some[8] = { 0, 0, 0, 1, 2, 3, 4, 5 };
	static const double both[8] = { -3, -2, -1, 1, 2, 3, 4, 5 };
	struct err err = ERR_INIT;
	struct paired p;

	(void)state;
	assert_int_equal(paired_effect(&p, none, 7, &err), 0);
	near_to(p.chance, 1, 0);
	near_to(p.effect, 0, 0);
	assert_true(p.low <= 0 && p.high >= 0);
	/* 6 of 36 means are 0, none is below: as if ranks 1 to 3 were against it. Of 2^8 choices
	 * 14 have a sum of 6 at most: 1+1+1+2+2+3+4 */
	assert_int_equal(paired_effect(&p, some, 8, &err), 0);
	near_to(p.chance, 2.0 * 14 / 256, 1e-15);
	near_to(p.low, 0, 0);
	/* 3 of 8 below 0: 6 means of these, 3 and 3 of mixed ones below 0 and 3 that are 0 */
	assert_int_equal(paired_effect(&p, both, 8, &err), 0);
	assert_true(p.low < 0 && p.high > 0 && p.chance > 0.05);
	assert_int_equal(paired_effect(&p, NULL, 0, &err), 0);
	assert_true(!p.n && isnan(p.effect) && isnan(p.low) && isnan(p.high) && isnan(p.chance));
}

/* Ends of the interval where ranks are no longer counted out: at the exact rank, or next to it. */
static void interval_of_many(void **state)
{
	(void)state;
	for (size_t n = 95; n <= 125; n += 3) {
		double mean = (double)(n * (n + 1)) / 4, way[4000] = { 1 }, sum = 0, d[125];
		struct err err = ERR_INIT;
		struct paired p;
		size_t w = 0, most = (size_t)mean, least = 0, low = 0;

		assert_true(most < 4000);
		for (size_t r = 1; r <= n; r++)
			for (size_t i = most + 1; i-- > 0;)
				way[i] = way[i] / 2 + (i >= r ? way[i - r] / 2 : 0);
		while (w < most && sum + way[w] < 0.025)
			sum += way[w++];
		/* of these differences the means are 0 or more, each half of a whole number: the
		 * place of an end among them is how many are below it */
		for (size_t i = 0; i < n; i++)
			d[i] = (double)(i * i);
		assert_int_equal(paired_effect(&p, d, n, &err), 0);
		for (size_t i = 0; i < n; i++)
			for (size_t j = i; j < n; j++) {
				least += (d[i] + d[j]) / 2 < p.low;
				low += (d[i] + d[j]) / 2 <= p.low;
			}
		assert_true(least < w + 2 && low + 2 > w);
		assert_true(n > 100 || (least < w && low >= w));
		if (n > 100)
			print_message("# %zu pairs: exact place %zu, found %zu to %zu\n", n, w,
				      least + 1, low);
	}
}

static double uniform(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return ((double)(*s >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *s)
{
	double r = sqrt(-2 * log(uniform(s)));

	return r * cos(6.283185307179586 * uniform(s));
}

static void how_far(void **state)
{
	enum { DRAWN = 100000 };
	uint64_t seed = 88172645463325252;
	double far = paired_needs(0.25 / 3, 0.00125 / 3);
	unsigned found = 0;

	(void)state;
	/* one test alone decides: its point, and that of 9 in 10 (1.28155); where all go on, the
	 * first must have the same sign, which costs a little */
	near_to(paired_needs(1, 0.05), (1.959964 + 1.281552) / sqrt(2), 0.012);
	near_to(paired_needs(1, 0.01), (2.575829 + 1.281552) / sqrt(2), 0.012);
	near_to(paired_needs(0.05, 1), 1.959964 + 1.281552, 1e-4);
	near_to(paired_needs(0.01, 1), 2.575829 + 1.281552, 1e-4);
	/* both: beyond 1.731664 lies 0.25 / 3 of a normal distribution, 0.00125 / 3
	 * beyond 3.529265 */
	for (unsigned i = 0; i < DRAWN; i++) {
		double one = far + normal(&seed), two = far + normal(&seed);

		found += one > 1.731664 && (one + two) / sqrt(2) > 3.529265;
	}
	near_to((double)found / DRAWN, 0.9, 0.004);
}

static void what_is_found(void **state)
{
	const struct paired p = { .n = 25, .effect = 1, .low = 1 - 2 * Z95, .high = 1 + 2 * Z95 };
	const struct paired none = { .n = 3, .effect = 1, .low = NAN, .high = NAN };

	(void)state;
	/* the mean's standard error is 2, one difference's 2 * (5 + 1) */
	near_to(paired_found(&p, 3), 12 * 3 / 5.0, 1e-9);
	assert_int_equal(paired_wanted(&p, 3, 4), 16 * 16);
	assert_int_equal(paired_wanted(&p, 2.99, 4), 258); /* 257.7 */
	assert_int_equal(paired_wanted(&p, 12, 4), PAIRED_GOOD);
	assert_int_equal(paired_wanted(&p, 1e-9, 4), 1000000000);
	assert_int_equal(paired_wanted(&p, 0, 4), 0);
	assert_int_equal(paired_wanted(&p, -1, 4), 0);
	assert_int_equal(paired_wanted(&none, 1, 4), 0);
	assert_true(isnan(paired_found(&none, 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),	    cmocka_unit_test(many_pairs),
		cmocka_unit_test(interval),	    cmocka_unit_test(ties),
		cmocka_unit_test(interval_of_many), cmocka_unit_test(how_far),
		cmocka_unit_test(what_is_found),
	};

	return cmocka_run_group_tests_name("base/paired", tests, NULL, NULL);
}
