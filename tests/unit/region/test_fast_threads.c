/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path in 64 threads, each with counters of its own, while others read the sums: what they
 * see belongs together. rdtsc stands in for rdpmc, so counters count time.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "fake.h"

#define THREADS 64
#define PAIRS	20000

static struct fake f[THREADS];
static struct cyclade_region *region[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static int stop;
static unsigned wrong; /* the looker's: an assertion must not fail in a thread */

static void *count(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	pthread_mutex_lock(&lock);
	fake_open(&f[i], 4, i & 1 ? 8 : 0);
	region[i] = fake_region(&f[i]);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&ready);
	for (int k = 0; k < PAIRS; k++) {
		/* the reset fails: there is nothing to reset */
		f[i].t->next = k % 100 ? UINT64_MAX : 0;
		cyclade_begin(region[i]);
		cyclade_end(region[i]);
		if (k % 1000 == 0) /* the kernel moves something */
			fake_page(&f[i], 2, 3, 0);
	}
	return NULL;
}

static void *look(void *arg)
{
	uint64_t *looks = arg, last[THREADS] = { 0 };

	pthread_barrier_wait(&ready);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (size_t i = 0; i < THREADS; i++) {
			struct table_sums s = fake_sums(&f[i], region[i]);

			if (s.torn)
				continue;
			wrong += s.runs < last[i] || s.runs > PAIRS;
			/* counters are read around the time stamps of each run */
			wrong += s.total[2] < s.tsc || s.total[3] < s.tsc;
			last[i] = s.runs;
			++*looks;
		}
	return NULL;
}

static void test_fast_threads(void **state)
{
	pthread_t thread[THREADS], looker;
	uint64_t looks = 0;

	(void)state;
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	assert_int_equal(pthread_create(&looker, NULL, look, &looks), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(looker, NULL);
	assert_true(looks > 0);
	assert_int_equal(wrong, 0);
	for (size_t i = 0; i < THREADS; i++) {
		struct table_sums s = fake_sums(&f[i], region[i]);

		assert_int_equal(s.runs + s.lost, PAIRS);
		assert_int_equal(s.lost, 0);
		fake_close(&f[i]);
	}
	pthread_barrier_destroy(&ready);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_fast_threads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
