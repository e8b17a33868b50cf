/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../skip.h"
#include "collect/alive.h"
#include "tree.h"

#define EVENTS "sys/bus/event_source/devices/armv8_pmuv3/events/"

static const struct tree_file listed[] = {
	{ EVENTS "cpu_cycles", "event=0x0011\n" },
	{ EVENTS "inst_retired", "event=0x0008\n" },
	{ EVENTS "stall_slot", "event=0x003f\n" },
	{ EVENTS "sve_inst_spec", "event=0x8002\n" },
	{ EVENTS "odd", "config=0x1\n" },
	{ "sys/bus/event_source/devices/cpu/events/cpu-cycles", "event=0x11\n" },
	{ "sys/bus/event_source/devices/armv8_empty/type", "8\n" },
	{ NULL, NULL },
};

static void test_missing(void **state)
{
	char root[] = "/tmp/cyclade-alive-XXXXXX";
	struct arena a = ARENA_INIT;
	uint64_t missing;

	(void)state;
	tree_make(root, listed);
	missing = alive_missing(&a, root, "armv8_pmuv3");
	/* 0x00 to 0x37 but these two and CHAIN */
	assert_true(missing ==
		    (((1ULL << 0x38) - 1) & ~(1ULL << 0x11) & ~(1ULL << 8) & ~(1ULL << 0x1e)));
	/* nothing is known: another maker's codes, no list, no PMU */
	assert_true(alive_missing(&a, root, "cpu") == 0);
	assert_true(alive_missing(&a, root, "armv8_empty") == 0);
	assert_true(alive_missing(&a, root, "armv8_pmuv3_1") == 0);
	tree_remove(root);
	arena_free(&a);
}

/* Software events, which every kernel has: the dummy never counts. */
static void test_software(void **state)
{
	struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_TASK_CLOCK,
					 .exclude_kernel = 1 };
	struct perf_event_attr dummy = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_DUMMY,
					 .exclude_kernel = 1 };
	struct perf_event_attr none = { .type = 0xffff, .exclude_kernel = 1 };

	(void)state;
	assert_int_equal(alive_test(&none), ALIVE_UNKNOWN);
	if (alive_test(&clock) == ALIVE_UNKNOWN)
		SKIP_BECAUSE("software events cannot be opened here");
	assert_int_equal(alive_test(&clock), ALIVE_YES);
	assert_int_equal(alive_test(&dummy), ALIVE_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_software),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
