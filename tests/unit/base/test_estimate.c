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

static void student_falls_to_normal(void **state)
{
	(void)state;
	for (size_t n = 1; n < 200; n++)
		assert_true(t95(n) > t95(n + 1) && t95(n + 1) > Z95);
	assert_float_equal(t95(1000000000), Z95, 1e-8);
	assert_float_equal(erf(Z95 / sqrt(2)), 0.95, 1e-15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_holds_95_percent),
		cmocka_unit_test(student_falls_to_normal),
	};

	return cmocka_run_group_tests_name("base/estimate", tests, NULL, NULL);
}
