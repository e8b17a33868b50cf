/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/estimate.h"

static double density(double x, double freedom)
{
	return exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) -
		   0.5 * log(freedom * 3.14159265358979323846) -
		   (freedom + 1) / 2 * log(1 + x * x / freedom));
}

/* Simpson's rule: what lies between -t and t. */
static double within(double t, double freedom)
{
	const int steps = 2000;
	double sum = density(0, freedom) + density(t, freedom);

	for (int i = 1; i < steps; i++)
		sum += (i % 2 ? 4 : 2) * density(t * i / steps, freedom);
	return 2 * sum * t / steps / 3;
}

static void student_holds_95_percent(void **state)
{
	static const size_t more[] = { 15, 29, 63, 200, 5000 };

	(void)state;
	for (size_t n = 1; n <= 12; n++)
		assert_float_equal(within(t95(n), (double)n), 0.95, 1e-6);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		assert_float_equal(within(t95(more[i]), (double)more[i]), 0.95, 1e-6);
}

/* Beyond the table it is an expansion, as good as it says: held against bisection for 95 %. */
static void student_has_seven_digits(void **state)
{
	(void)state;
	for (size_t n = 21; n < 40; n++) {
		double low = 1.9, high = 2.2;

		for (int i = 0; i < 40; i++) {
			double mid = (low + high) / 2;

			*(within(mid, (double)n) < 0.95 ? &low : &high) = mid;
		}
		assert_true(fabs(t95(n) - low) < 2.5e-7);
	}
}

/* Wilson's interval ends where a share is 1.96 of its own standard errors away. */
static void shares_end_where_wilson_says(void **state)
{
	static const double shares[] = { 0, 1e-3, 0.04, 0.3, 0.5, 0.97, 1 };
	static const double draws[] = { 0.5, 1, 7, 100, 1e6 };

	(void)state;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		for (size_t k = 0; k < sizeof(draws) / sizeof(*draws); k++) {
			double p = shares[i], n = draws[k], end[2];

			share_interval(p, n, &end[0], &end[1]);
			assert_true(end[0] >= 0 && end[0] <= p && p <= end[1] && end[1] <= 1);
			assert_true(end[0] < end[1]);
			for (int e = 0; e < 2; e++)
				assert_true(fabs((p - end[e]) * (p - end[e]) -
						 Z95 * Z95 * end[e] * (1 - end[e]) / n) < 1e-12);
		}
}

static void student_falls_to_normal(void **state)
{
	(void)state;
	for (size_t n = 1; n < 200; n++)
		assert_true(t95(n) > t95(n + 1) && t95(n + 1) > Z95);
	assert_float_equal(t95(1000000000), Z95, 1e-8);
	assert_float_equal(erf(Z95 / sqrt(2)), 0.95, 1e-15);
}

/* (0, 1) */
static double draw(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(*x >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *x)
{
	return sqrt(-2 * log(draw(x))) * cos(2 * 3.14159265358979323846 * draw(x));
}

/* Share of bars of the mean of n lognormal draws that hold the true mean. */
static double means_hold(size_t n, double sigma, uint64_t *x)
{
	const int runs = 4000;
	int held = 0;

	for (int r = 0; r < runs; r++) {
		double sum = 0, squares = 0;
		struct estimate e;

		for (size_t i = 0; i < n; i++) {
			double v = 100 * exp(sigma * normal(x));

			sum += v;
			squares += v * v;
		}
		e = sums_mean(n, sum, squares, "");
		assert_null(e.why);
		held += fabs(e.v - 100 * exp(sigma * sigma / 2)) <= e.half;
	}
	return (double)held / runs;
}

static void means_of_skewed_draws_hold(void **state)
{
	static const size_t n[] = { SKEWED_FEWEST, 20, 50, 300 };
	uint64_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		assert_true(means_hold(n[i], 0.25, &x) > 0.95);
		assert_true(means_hold(n[i], 0.5, &x) > 0.95);
		assert_true(means_hold(n[i], 1, &x) > 0.95);
		assert_true(means_hold(n[i], 1.5, &x) > 0.9);
	}
}

static void few_draws_have_no_bar(void **state)
{
	struct estimate e;

	(void)state;
	for (uint64_t n = 1; n < SKEWED_FEWEST; n++) {
		e = sums_mean(n, 10.0 * (double)n, 100.0 * (double)n, "none");
		assert_float_equal(e.v, 10, 1e-12);
		assert_true(isnan(e.half));
		assert_string_equal(e.why, "too few samples");
	}
	e = sums_mean(0, 0, 0, "none");
	assert_true(isnan(e.v));
	assert_string_equal(e.why, "none");
	e = sums_mean(SKEWED_FEWEST, 10.0 * SKEWED_FEWEST, 100.0 * SKEWED_FEWEST, "none");
	assert_true(e.half == 0 && !e.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_holds_95_percent),
		cmocka_unit_test(student_has_seven_digits),
		cmocka_unit_test(shares_end_where_wilson_says),
		cmocka_unit_test(student_falls_to_normal),
		cmocka_unit_test(means_of_skewed_draws_hold),
		cmocka_unit_test(few_draws_have_no_bar),
	};

	return cmocka_run_group_tests_name("base/estimate", tests, NULL, NULL);
}
