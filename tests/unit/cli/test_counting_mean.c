/* SPDX-License-Identifier: BSD-3-Clause */
/* Ratios of counts: up to all of the whole, or little more: counters start apart. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "measure/counting_events.h"

static const char *of_pmu(struct arena *a, double misses, double branches, uint64_t pmu)
{
	struct event event[2] = { 0 };
	const uint32_t shown[2] = { 0, 1 };
	struct counting_events s = { .shown = shown, .n_shown = 2, .n_places = 1 };
	static struct counts_row row[2];

	event[0].attr.type = event[1].attr.type = PERF_TYPE_HARDWARE;
	event[0].attr.config = PERF_COUNT_HW_BRANCH_MISSES;
	event[1].attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | pmu << 32;
	s.list.ev.v = event;
	s.list.ev.n = 2;
	row[0] = (struct counts_row){ .value = misses, .unit = "" };
	row[1] = (struct counts_row){ .value = branches, .unit = "" };
	counting_events_mean(&s, a, row, 1);
	return row[0].note;
}

static const char *mean(struct arena *a, double misses, double branches)
{
	return of_pmu(a, misses, branches, 0);
}

/* Misses of the large cores are no part of the small ones' branches. */
static void test_other_pmu(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	assert_null(of_pmu(&a, 25, 1000, 10));
	arena_free(&a);
}

static void test_more_than_there_are(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	assert_string_equal(mean(&a, 25, 1000), "2.50 % of branches");
	assert_string_equal(mean(&a, 1000, 1000), "100.00 % of branches");
	assert_string_equal(mean(&a, 1004, 1000), "100.00 % of branches");
	assert_string_equal(mean(&a, 1006, 1000), "? of branches: more than there are");
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_than_there_are),
		cmocka_unit_test(test_other_pmu),
	};

	return cmocka_run_group_tests_name("counting_mean", tests, NULL, NULL);
}
