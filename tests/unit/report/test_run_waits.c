/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line of `run` on what waited: threads of one name together, their reason, and the object if
 * they waited for it for more than half of their time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/run.h"
#include "report/wait_view.h"

#define SECOND UINT64_C(1000000000)

static struct wait_thread sleeper(uint32_t tid, enum wait_reason why, uint64_t time,
				  uint32_t object, uint64_t object_time)
{
	struct wait_thread t = { .tid = tid, .comm = "pool", .wanted = true };

	t.time[why] = time;
	t.object = object;
	t.object_time = object_time;
	return t;
}

static void check_line(struct wait_thread *thread, size_t n, const char *want)
{
	uint32_t order[] = { 0, 1, 2 };
	struct wait w = { .thread = thread, .n_threads = n, .object = STRTAB_INIT };
	struct wait_view v = { .w = &w, .order = order, .n = n };
	struct tree_report tree = { .head = { .seconds = 10 } };
	struct run_report r = { .tree = &tree, .cpu_s = 1, .waits = &v };
	struct buf b = BUF_INIT;

	assert_int_equal(strtab_add(&w.object, "", 0), 0);
	assert_int_equal(strtab_add(&w.object, "queue_lock", 10), 1);
	assert_true(run_waited(&r));
	run_put_waited(&b, &r);
	assert_non_null(strstr(buf_str(&b), "; most of it "));
	assert_string_equal(strstr(buf_str(&b), "; most of it "), want);
	buf_free(&b);
	strtab_free(&w.object);
}

static void test_object(void **state)
{
	struct wait_thread t[] = { sleeper(1, WAIT_LOCK, 6 * SECOND, 1, 6 * SECOND),
				   sleeper(2, WAIT_LOCK, 4 * SECOND, 1, 3 * SECOND) };

	(void)state;
	check_line(t, 2, "; most of it 2 threads 'pool' 10.00 s (lock: queue_lock)");
}

/* The time of a thread whose object is not known is not that of another's object. */
static void test_unknown_object(void **state)
{
	struct wait_thread t[] = { sleeper(1, WAIT_LOCK, 9 * SECOND, 0, 9 * SECOND),
				   sleeper(2, WAIT_LOCK, SECOND, 1, SECOND) };

	(void)state;
	check_line(t, 2, "; most of it 2 threads 'pool' 10.00 s (lock)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object),
		cmocka_unit_test(test_unknown_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
