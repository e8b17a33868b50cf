/* SPDX-License-Identifier: BSD-3-Clause */
/* Periods that differ: where they lie, what they are free of, and that no loop keeps step with
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/jitter.h"

static void near_the_nominal(void **state)
{
	uint64_t seed = 1, last = 0, same = 0;
	double sum = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t p = jitter_period(1000003, 0.1, &seed);

		assert_in_range(p, 900003, 1100003);
		for (uint64_t f = 2; f < 50; f++)
			assert_true(p % f);
		sum += (double)p;
		same += p == last;
		last = p;
	}
	assert_true(sum / 10000 > 0.995e6 && sum / 10000 < 1.005e6);
	assert_true(same < 3);
}

static void no_room(void **state)
{
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(jitter_period(1, 0.1, &seed), 1);
	assert_int_equal(jitter_period(100, 0.5, &seed), 100);
	assert_int_equal(jitter_period(1000003, 0, &seed), 1000003);
	assert_int_equal(jitter_period(1000003, 1e-9, &seed), 1000003);
	for (int i = 0; i < 100; i++)
		assert_in_range(jitter_period(128, 0.1, &seed), 116, 140);
	/* the largest that the kernel takes, and no overflow on the way */
	assert_in_range(jitter_period(INT64_MAX, 0.5, &seed), INT64_MAX / 2, UINT64_MAX - 1);
}

/* Both ends of the range are in it. Primes from 123 to 143 are 127, 131, 137 and 139. */
static void ends_are_drawn(void **state)
{
	bool least = false, most = false;
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		most |= jitter_period(131, 0.0625, &seed) == 131 + 8;
		least |= jitter_period(135, 0.0625, &seed) == 135 - 8;
	}
	assert_true(least && most);
}

/* No part of the range is met more often than another: chi-square of 19 degrees of freedom, above
 * 55 or below 3 once in 40,000 times. */
static void evenly_spread(void **state)
{
	enum { BINS = 20, DRAWS = 100000 };
	unsigned seen[BINS] = { 0 };
	uint64_t seed = 5;
	double sum = 0, want = (double)DRAWS / BINS;

	(void)state;
	for (int i = 0; i < DRAWS; i++)
		seen[(jitter_period(6250000, 0.1, &seed) - 5625000) / 62501]++;
	for (int i = 0; i < BINS; i++)
		sum += ((double)seen[i] - want) * ((double)seen[i] - want) / want;
	assert_true(sum < 55 && sum > 3);
}

/* A loop of 1,600 ops, 480 of them A's. A sample every million ops meets it at the same place each
 * time: all of them are A's, or none. With periods that are drawn, 20,000 samples tell A's share
 * within the error bar of so many (95 %). */
static void no_loop_keeps_step(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		uint64_t s = seed, at = 0, period = 0;
		unsigned fixed = 0, drawn = 0;
		double off;

		for (uint64_t i = 0; i < 20000; i++) {
			if (i % 100 == 0)
				period = 16 * jitter_period(1000000 / 16, 0.1, &s);
			at += period;
			drawn += at % 1600 < 480;
			fixed += (i * 1000000 + 700) % 1600 < 480;
		}
		off = (double)drawn / 20000 - 0.3;
		assert_int_equal(fixed, 0);
		assert_true(off < 0.00635 && off > -0.00635); /* 1.96 * sqrt(0.3 * 0.7 / 20000) */
	}
}

/* A loop of 1,000 events whose samples come every 100,000 or so: the parts of it, in tenths, that
 * 10,000 of them meet; a new period every 100, as recorder.h has it. */
static unsigned tenths_met(double part, unsigned least_of_tenth)
{
	unsigned hit[10] = { 0 }, met = 0;
	uint64_t seed = 7, at = 0, period = 100000;

	for (int i = 0; i < 10000; i++) {
		if (i % 100 == 0)
			period = jitter_period(100000, part, &seed);
		at += period;
		hit[at % 1000 / 100]++;
	}
	for (int i = 0; i < 10; i++)
		met += hit[i] >= least_of_tenth;
	return met;
}

static void loops_do_not_keep_step(void **state)
{
	(void)state;
	assert_int_equal(tenths_met(0, 1), 1);	    /* always at the same place */
	assert_int_equal(tenths_met(0.1, 900), 10); /* everywhere alike: 1,000 each */
}

static void which_may(void **state)
{
	static const struct {
		struct perf_event_attr attr;
		bool can, change;
	} rows[] = {
		{ { .type = PERF_TYPE_RAW, .sample_period = 1000003 }, true, true },
		{ { .type = 12, .sample_period = 1000003 }, true, true },
		{ { .type = PERF_TYPE_RAW, .sample_period = 100 }, false, false },
		{ { .type = PERF_TYPE_RAW, .sample_period = 4000, .freq = 1 }, false, false },
		{ { .type = PERF_TYPE_RAW }, false, false },
		{ { .type = PERF_TYPE_SOFTWARE,
		    .config = PERF_COUNT_SW_CPU_CLOCK,
		    .sample_period = 1000003 },
		  true,
		  false },
		{ { .type = PERF_TYPE_SOFTWARE,
		    .config = PERF_COUNT_SW_PAGE_FAULTS,
		    .sample_period = 1000003 },
		  false,
		  false },
		{ { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1000003 }, false, false },
		{ { .type = PERF_TYPE_BREAKPOINT, .sample_period = 1000003 }, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(jitter_can(&rows[i].attr), rows[i].can);
		assert_int_equal(jitter_can_change(&rows[i].attr), rows[i].change);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_the_nominal),
		cmocka_unit_test(ends_are_drawn),
		cmocka_unit_test(no_room),
		cmocka_unit_test(evenly_spread),
		cmocka_unit_test(no_loop_keeps_step),
		cmocka_unit_test(loops_do_not_keep_step),
		cmocka_unit_test(which_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
