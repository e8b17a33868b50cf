/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "collect/tsc.h"

/* Against the counter itself, over a tenth of a second of the kernel's clock. */
static void test_speed(void **state)
{
	double hz = tsc_hz();

	(void)state;
	if (isnan(hz))
		skip();
#if defined(__x86_64__)
	struct timespec a, b;
	double seconds;
	uint64_t from, to;

	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	from = __rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC_RAW, &b);
		to = __rdtsc();
		seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	} while (seconds < 0.1);
	assert_true(fabs((double)(to - from) / seconds / hz - 1) < 0.01);
#else
	fail_msg("%f Hz where there is no such counter", hz);
#endif
}

static void test_name(void **state)
{
	(void)state;
	assert_true(tsc_hz_of_name("Intel(R) Xeon(R) CPU X5550 @ 2.67GHz") == 2.67e9);
	assert_true(isnan(tsc_hz_of_name("12th Gen Intel(R) Core(TM) i9-12900K")));
	assert_true(isnan(tsc_hz_of_name("X @ 800MHz")));
	assert_true(isnan(tsc_hz_of_name("X @ 1e300GHz")));
	assert_true(isnan(tsc_hz_of_name("X @ nanGHz")));
	assert_true(isnan(tsc_hz_of_name(NULL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_speed),
					    cmocka_unit_test(test_name) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
