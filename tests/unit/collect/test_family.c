/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/family.h"

static int tell; /* where tasks write their ids */

static void *thread(void *arg)
{
	pid_t id = (pid_t)syscall(SYS_gettid);

	(void)arg;
	if (write(tell, &id, sizeof(id)) == sizeof(id))
		(void)pause();
	return NULL;
}

/* A child with a second thread and a child of its own: three tasks. */
static pid_t start(void)
{
	pid_t child = fork();
	pthread_t t;

	if (child)
		return child;
	if (!fork()) {
		(void)setpgid(0, 0);
		(void)thread(NULL);
		_exit(0);
	}
	if (pthread_create(&t, NULL, thread, NULL))
		_exit(1);
	(void)thread(NULL);
	_exit(0);
}

static int has(const pid_t *list, size_t n, pid_t id)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == id)
			return 1;
	return 0;
}

static void test_tree(void **state)
{
	pid_t id[3], found[16], some[1], child;
	size_t n, one, none;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	tell = ends[1];
	child = start();
	assert_true(child > 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(read(ends[0], &id[i], sizeof(id[i])), sizeof(id[i]));
	n = family_tasks(child, found, 16);
	one = family_tasks(child, some, 1);
	none = family_tasks(child, some, 0);
	for (size_t i = 0; i < 3; i++)
		(void)kill(id[i], SIGKILL);
	assert_int_equal(found[0], child);
	if (!access("/proc/thread-self/children", F_OK)) { /* else a kernel that shows none */
		assert_true(n >= 3);			   /* a sanitizer has threads of its own */
		for (size_t i = 0; i < 3; i++)
			assert_true(has(found, n, id[i]));
	}
	assert_int_equal(one, 1);
	assert_int_equal(none, 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(family_tasks(child, found, 16), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_tree) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
