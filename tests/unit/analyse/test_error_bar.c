/* SPDX-License-Identifier: BSD-3-Clause */
/* Error bars against published values and against sampling itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "analyse/error_bar.h"

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.9f is not %.9f within %g", a, b, eps);
}

/* Wilson's interval for k of n at 95 %: values as tables of it give them. */
static void known_intervals(void **state)
{
	struct error_bar e = error_bar_share(50, 100, 100);

	(void)state;
	near(e.share, 0.5, 1e-12);
	near(e.low, 0.4038, 5e-5);
	near(e.high, 0.5962, 5e-5);
	near(e.half, 0.0962, 5e-5);
	e = error_bar_share(0, 10, 10);
	near(e.low, 0, 0);
	near(e.high, 0.2775, 5e-5);
	e = error_bar_share(10, 10, 10);
	near(e.low, 0.7225, 5e-5);
	near(e.high, 1, 0);
	e = error_bar_share(1, 10, 10);
	near(e.low, 0.0179, 5e-5);
	near(e.high, 0.4042, 5e-5);
}

static void equal_weights_do_not_matter(void **state)
{
	struct error_bar a = error_bar_share(30, 200, 200);
	struct error_bar b = error_bar_share(30 * 4000.0, 200 * 4000.0, 200 * 4000.0 * 4000.0);

	(void)state;
	near(a.low, b.low, 1e-12);
	near(a.high, b.high, 1e-12);
}

static void nothing_is_not_zero(void **state)
{
	struct error_bar e = error_bar_share(0, 0, 0);

	(void)state;
	assert_true(isnan(e.share));
	near(e.low, 0, 0);
	near(e.high, 1, 0);
}

static uint64_t seed;

static double draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* Of many samplings of a known share, with weights that vary as periods do, how often does the
 * interval hold the truth? */
static double coverage(double share, int n, int rounds, double spread)
{
	int held = 0;

	for (int r = 0; r < rounds; r++) {
		double w = 0, W = 0, W2 = 0;
		struct error_bar e;

		for (int i = 0; i < n; i++) {
			double weight = 1 + spread * draw();

			W += weight;
			W2 += weight * weight;
			w += draw() < share ? weight : 0;
		}
		e = error_bar_share(w, W, W2);
		held += e.low <= share && share <= e.high;
	}
	return (double)held / rounds;
}

static void interval_holds_the_truth(void **state)
{
	static const struct {
		double share, spread;
		int n;
	} row[] = {
		{ 0.5, 0, 400 }, { 0.1, 0, 400 },   { 0.02, 0, 2000 },
		{ 0.3, 9, 500 }, { 0.05, 9, 3000 },
	};

	(void)state;
	seed = 88172645463325252ULL;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		double c = coverage(row[i].share, row[i].n, 4000, row[i].spread);

		if (c < 0.935 || c > 0.965)
			fail_msg("share %.2f of %d: held %.4f", row[i].share, row[i].n, c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_intervals),
		cmocka_unit_test(equal_weights_do_not_matter),
		cmocka_unit_test(nothing_is_not_zero),
		cmocka_unit_test(interval_holds_the_truth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
