/* SPDX-License-Identifier: BSD-3-Clause */
/* Address spaces as they are now: who has which mappings, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/perf_abi.h"
#include "symbol/live.h"

static struct images *images;
static struct live_spaces *live;

static int begin(void **state)
{
	const struct images_opts opts = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	images = images_new(&opts, &err);
	live = images ? live_new(images, &err) : NULL;
	return live ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	live_free(live);
	images_free(images);
	return 0;
}

static void map(uint32_t pid, uint64_t start)
{
	const struct space_map_fact f = { .pid = pid,
					  .tid = pid,
					  .start = start,
					  .len = 0x1000,
					  .prot = 5,
					  .misc = PERF_RECORD_MISC_USER,
					  .path = "/nowhere/program" };
	struct err err = ERR_INIT;

	assert_int_equal(live_map(live, &f, &err), 0);
}

static void starts(uint32_t pid, uint32_t parent)
{
	struct err err = ERR_INIT;

	assert_int_equal(live_fork(live, pid, parent, &err), 0);
}

static bool has(uint32_t pid, uint64_t ip)
{
	const struct live_process *p = live_process(live, pid);

	return p && live_find(p, ip);
}

static void children_have_mappings_until_they_exec(void **state)
{
	(void)state;
	map(1, 0x1000);
	starts(2, 1);
	map(1, 0x5000);
	map(2, 0x9000);
	assert_true(has(1, 0x1fff) && has(1, 0x5000) && !has(1, 0x9000));
	assert_true(has(2, 0x1000) && !has(2, 0x5000) && has(2, 0x9000));
	live_exec(live, 2);
	assert_true(!has(2, 0x1000) && has(1, 0x1000));
}

static void processes_stay_a_round_more(void **state)
{
	(void)state;
	map(1, 0x1000);
	starts(1, 1); /* a thread */
	live_exit(live, 1);
	live_round(live);
	live_round(live);
	assert_true(has(1, 0x1000));
	live_exit(live, 1);
	live_round(live);
	assert_true(has(1, 0x1000));
	live_round(live);
	assert_null(live_process(live, 1));
}

/* Some end when all is freed, one of them in favour of another of its number. */
static void processes_may_end_at_the_end(void **state)
{
	(void)state;
	map(1, 0x1000);
	for (uint32_t pid = 2; pid < 100; pid++) {
		starts(pid, 1);
		map(pid, 0x5000);
		if (pid % 2)
			live_exit(live, pid);
	}
	starts(3, 1);
	assert_true(has(2, 0x5000) && has(5, 0x5000) && has(3, 0x1000) && !has(3, 0x5000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(children_have_mappings_until_they_exec, begin, end),
		cmocka_unit_test_setup_teardown(processes_stay_a_round_more, begin, end),
		cmocka_unit_test_setup_teardown(processes_may_end_at_the_end, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
