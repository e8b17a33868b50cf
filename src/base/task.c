/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/task.h"
#include "base/invariant.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS_MAX 64u

struct shared {
	size_t n;
	int (*fn)(void *ctx, unsigned worker, size_t i, struct err *err);
	void *ctx;
	atomic_size_t next;
	atomic_bool stop;
	pthread_mutex_t lock;
	struct err *err;
};

struct worker {
	struct shared *shared;
	unsigned number;
	pthread_t thread;
};

unsigned task_threads(void)
{
	cpu_set_t set;
	int n = 1;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = CPU_COUNT(&set);
	if (n < 1)
		n = 1;
	return (unsigned)n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
}

struct start {
	void *(*fn)(void *arg);
	void *arg;
	int cpu; /* the creator's */
};

static void pin_back(int cpu)
{
	cpu_set_t all, others;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu ||
	    sched_getaffinity(0, sizeof(all), &all))
		return;
	others = all;
	CPU_CLR((size_t)cpu, &others);
	/* moves at once, and stays where it is when it may be everywhere again */
	if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof(others), &others))
		(void)!sched_setaffinity(0, sizeof(all), &all);
}

static void *task_thread(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	pin_back(s.cpu);
	return s.fn(s.arg);
}

int task_start(pthread_t *t, void *(*fn)(void *arg), void *arg)
{
	struct start *s = malloc(sizeof(*s));
	int rc;

	if (!s)
		return ENOMEM;
	*s = (struct start){ fn, arg, sched_getcpu() };
	rc = pthread_create(t, NULL, task_thread, s);
	if (rc)
		free(s);
	return rc;
}

static void *do_tasks(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;

	while (!atomic_load(&s->stop)) {
		struct err err = ERR_INIT;
		size_t i = atomic_fetch_add(&s->next, 1);

		if (i >= s->n)
			break;
		if (!s->fn(s->ctx, w->number, i, &err))
			continue;
		(void)pthread_mutex_lock(&s->lock);
		if (!atomic_exchange(&s->stop, true) && s->err && s->err->code == ERR_NONE)
			*s->err = err;
		(void)pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

int task_for(size_t n, unsigned threads,
	     int (*fn)(void *ctx, unsigned worker, size_t i, struct err *err), void *ctx,
	     struct err *err)
{
	struct shared s = { .n = n, .fn = fn, .ctx = ctx, .err = err };
	struct worker w[THREADS_MAX];
	unsigned started = 0;

	if (!threads)
		threads = task_threads();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > n)
		threads = (unsigned)n;
	(void)pthread_mutex_init(&s.lock, NULL);
	/* the caller is worker 0; a thread that cannot be had only costs time */
	for (unsigned i = 1; i < threads; i++) {
		w[started + 1] = (struct worker){ .shared = &s, .number = started + 1 };
		if (task_start(&w[started + 1].thread, do_tasks, &w[started + 1]))
			break;
		started++;
	}
	w[0] = (struct worker){ .shared = &s, .number = 0 };
	(void)do_tasks(&w[0]);
	for (unsigned i = 1; i <= started; i++)
		(void)pthread_join(w[i].thread, NULL);
	(void)pthread_mutex_destroy(&s.lock);
	assert(atomic_load(&s.stop) || atomic_load(&s.next) >= n); /* each was taken */
	return atomic_load(&s.stop) ? -1 : 0;
}
