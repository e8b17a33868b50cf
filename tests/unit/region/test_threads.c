/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library as a program of many threads uses it: 64 of them count while others report and reset,
 * threads come and go, one forks. Counting is by the time and by read(2) of a software event: that
 * works anywhere.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "cyclade.h"
#include "../skip.h"

#define THREADS 64
#define RUNS	500

static struct cyclade_set *set;
static int stop;

static struct cyclade_set *open_set(const char *metrics, unsigned regions)
{
	struct cyclade_open_opts o = { .size = sizeof(o),
				       .metrics = metrics,
				       .max_regions = regions };
	struct cyclade_error e = { .size = sizeof(e) };
	struct cyclade_set *s;

	if (cyclade_open(&s, &o, &e))
		fail_msg("%s", e.what);
	return s;
}

static struct cyclade_value value_of(struct cyclade_set *s, const char *region, const char *metric,
				     long thread)
{
	struct cyclade_value v = { .size = sizeof(v) };

	assert_int_equal(cyclade_read(s, region, metric, thread, &v), 0);
	return v;
}

static void *count(void *arg)
{
	struct cyclade_region *outer = cyclade_handle(set, "outer"), *inner;
	char name[32];

	(void)snprintf(name, sizeof(name), "of thread %d", (int)(intptr_t)arg);
	inner = cyclade_handle(set, name);
	assert_ptr_equal(outer, cyclade_handle(set, "outer"));
	for (int i = 0; i < RUNS; i++) {
		cyclade_begin(outer);
		cyclade_begin(inner);
		cyclade_end(inner);
		cyclade_end(outer);
		{
			CYCLADE_SCOPE(set, "scope");
		}
	}
	return NULL;
}

static void *look(void *arg)
{
	int fd = *(int *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct cyclade_report_opts o = {
			.size = sizeof(o), .fd = fd, .format = "json", .per_thread = 1
		};
		struct cyclade_value v = { .size = sizeof(v) };

		assert_int_equal(cyclade_report(set, &o), 0);
		if (!cyclade_read(set, "outer", "runs", CYCLADE_ALL_THREADS, &v))
			assert_true(v.value <= THREADS * RUNS);
	}
	return NULL;
}

static void many_threads(const char *metrics)
{
	pthread_t thread[THREADS], looker;
	FILE *null = fopen("/dev/null", "w");
	int fd = fileno(null);

	set = open_set(metrics, 0);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&looker, NULL, look, &fd), 0);
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(looker, NULL);
	(void)fclose(null);
	assert_true(value_of(set, "outer", "runs", CYCLADE_ALL_THREADS).value == THREADS * RUNS);
	assert_true(value_of(set, "scope", "runs", CYCLADE_ALL_THREADS).value == THREADS * RUNS);
	assert_true(value_of(set, "of thread 7", "runs", CYCLADE_ALL_THREADS).value == RUNS);
	cyclade_reset(set);
	assert_int_equal(value_of(set, "outer", "runs", CYCLADE_ALL_THREADS).why, CYCLADE_NOT_RUN);
	cyclade_close(set);
}

static void test_time(void **state)
{
	(void)state;
	many_threads(NULL);
}

static void test_read(void **state)
{
	(void)state;
	many_threads("page-faults,task-clock");
}

/* Counts of read(2) are those of the kernel. */
static void test_page_faults(void **state)
{
	static char memory[64 * 4096];
	struct cyclade_region *r;
	struct cyclade_value v;

	(void)state;
	set = open_set("page-faults", 0);
	if (strncmp(cyclade_status(set), "read(2)", 7)) {
		cyclade_close(set);
		SKIP_BECAUSE("no software events here");
	}
	r = cyclade_handle(set, "touch");
	cyclade_begin(r);
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		((volatile char *)memory)[i] = 1;
	cyclade_end(r);
	v = value_of(set, "touch", "page-faults", CYCLADE_ALL_THREADS);
	assert_int_equal(v.why == CYCLADE_OK || v.why == CYCLADE_TOO_SHORT, 1);
	/* the kernel may map some pages around, a sanitizer more */
	assert_true(v.value >= 4 && v.value <= 2000);
	cyclade_close(set);
}

/* A name that nobody knows is refused with a hint; a handle is had in any case. */
static void test_refusals(void **state)
{
	struct cyclade_open_opts o = { .size = sizeof(o), .metrics = "no-such-thing" };
	struct cyclade_error e = { .size = sizeof(e) };
	struct cyclade_region *r;
	struct cyclade_set *s;

	(void)state;
	assert_int_equal(cyclade_open(&s, &o, &e), -1);
	assert_non_null(strstr(e.what, "no-such-thing"));
	assert_true(*e.hint);
	o.max_regions = 1u << 30;
	o.metrics = NULL;
	assert_int_equal(cyclade_open(&s, &o, &e), -1);
	assert_null(s);
	assert_non_null(strstr(e.what, "max_regions"));
	r = cyclade_handle(NULL, "x");
	cyclade_begin(r);
	cyclade_end(r);
	assert_int_equal(cyclade_report(NULL, NULL), -1);
	cyclade_close(NULL);
	/* more regions than there is room for */
	s = open_set(NULL, 2);
	for (int i = 0; i < 10; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "r%d", i);
		r = cyclade_handle(s, name);
		cyclade_begin(r);
		cyclade_end(r);
	}
	assert_int_equal(value_of(s, "r1", "runs", CYCLADE_ALL_THREADS).why, CYCLADE_OK);
	assert_int_equal(value_of(s, "r2", "runs", CYCLADE_ALL_THREADS).why, CYCLADE_NOT_RUN);
	cyclade_close(s);
}

static void *come_and_go(void *arg)
{
	struct cyclade_region *r = cyclade_handle(set, "short life");

	cyclade_begin(r);
	cyclade_end(r);
	return arg;
}

/* More threads than have a block each. */
static void test_threads_come_and_go(void **state)
{
	(void)state;
	set = open_set(NULL, 4);
	for (int i = 0; i < 600; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_true(value_of(set, "short life", "runs", CYCLADE_ALL_THREADS).value == 600);
	cyclade_close(set);
}

static int child_code(struct cyclade_region *open_one)
{
	struct cyclade_region *r = cyclade_handle(set, "both");

	cyclade_end(open_one);
	cyclade_begin(r);
	cyclade_end(r);
	cyclade_begin(cyclade_handle(set, "child"));
	cyclade_end(cyclade_handle(set, "child"));
	if (!strstr(cyclade_status(set), "forked"))
		return 2;
	if (value_of(set, "both", "runs", CYCLADE_ALL_THREADS).value != 1)
		return 3;
	if (value_of(set, "open", "runs", CYCLADE_ALL_THREADS).value != 1)
		return 4;
	cyclade_close(set);
	return 0;
}

/* The child counts the time of its own and leaves its parent's sums alone. */
static void test_fork(void **state)
{
	struct cyclade_region *r, *open_one;
	int status;
	pid_t pid;

	(void)state;
	set = open_set("page-faults,ipc", 0);
	r = cyclade_handle(set, "both");
	open_one = cyclade_handle(set, "open");
	for (int i = 0; i < 5; i++) {
		cyclade_begin(r);
		cyclade_end(r);
	}
	cyclade_begin(open_one);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(child_code(open_one));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cyclade_end(open_one);
	assert_true(value_of(set, "both", "runs", CYCLADE_ALL_THREADS).value == 5);
	assert_true(value_of(set, "open", "runs", CYCLADE_ALL_THREADS).value == 1);
	assert_int_equal(value_of(set, "child", "runs", CYCLADE_ALL_THREADS).why, CYCLADE_NOT_RUN);
	cyclade_close(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_page_faults),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_threads_come_and_go),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
