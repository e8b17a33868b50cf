/* SPDX-License-Identifier: BSD-3-Clause */
/* What `stat -I` says at the head of each interval is the interval's memory, not the process'. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "cli/stat.h"

static void test_head_of_intervals(void **state)
{
	struct arena long_lived = ARENA_INIT, a = ARENA_INIT;
	const struct measure_opts opts = { .a = &long_lived };
	struct counting k = { .opts = &opts };
	int cpu[2] = { 0, 1 };
	size_t before;

	(void)state;
	k.who.whole_cpus = true;
	k.who.cpus.n = sizeof(cpu) / sizeof(*cpu);
	before = long_lived.total;
	for (int i = 0; i < 1000; i++) {
		struct count_head c = stat_head(&k, &a);

		assert_string_equal(c.target, "all 2 CPUs");
		arena_reset(&a);
	}
	assert_int_equal(long_lived.total, before);
	arena_free(&a);
	arena_free(&long_lived);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_of_intervals),
	};

	return cmocka_run_group_tests_name("stat_head", tests, NULL, NULL);
}
