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

#include "../skip.h"
#include "base/perf_abi.h"
#include "collect/tsc.h"

/* Against the counter itself, over a tenth of a second of the kernel's clock. */
static void test_speed(void **state)
{
	double hz = tsc_hz();

	(void)state;
	if (isnan(hz))
		SKIP_BECAUSE("neither the kernel nor the CPU says how fast its counter is");
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

/* A tick is mult / 2^shift nanoseconds. */
static void test_page(void **state)
{
	static const struct {
		uint32_t mult;
		uint16_t shift;
		double hz;
	} row[] = { { 1u << 31, 31, 1e9 },
		    { 858993459, 31, 2.5e9 },
		    { 4000000000u, 32, 1073741824 },
		    { 5, 0, 2e8 } };
	struct perf_event_mmap_page page = { .cap_user_time = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		page.time_mult = row[i].mult;
		page.time_shift = row[i].shift;
		assert_true(fabs(tsc_hz_of_page(&page) / row[i].hz - 1) < 1e-8);
	}
	page.cap_user_time = 0;
	assert_true(isnan(tsc_hz_of_page(&page)));
	page.cap_user_time = 1;
	page.time_mult = 0;
	assert_true(isnan(tsc_hz_of_page(&page)));
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
					    cmocka_unit_test(test_page),
					    cmocka_unit_test(test_name) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
