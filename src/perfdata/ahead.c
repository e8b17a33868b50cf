/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ahead - a second thread that works while the walk hops over a large mapped file: it makes the
 * kernel map the pages that come next, and hands the side-band records of finished chunks to the
 * caller (pd_feed), while they are still in the caches.
 *
 * The walk faults pages in by itself where it gets there first, so the two share that work however
 * long the records take.
 */
#include "perfdata/perfdata_int.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/task.h"

/* One byte of each 64 KB is read: the kernel maps the pages around it that are in memory with one
 * fault, in two thirds of the time of MADV_POPULATE_READ. */
#define FAULT_STEP  ((size_t)64 << 10)
#define FAULT_STEPS 16u /* between looks for chunks */
/* Kept between the walk and the pages mapped here: a page table, over which both would wait for
 * each other's lock. */
#define FAULT_APART ((size_t)2 << 20)

struct job {
	struct pd_chunk chunk;
	size_t first, n; /* of `side` */
};

struct pd_ahead {
	const struct pd *rec;
	const uint8_t *p;
	size_t len, at;
	atomic_size_t walked; /* where the walk is */
	atomic_bool stop;
	pthread_t thread;
	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t more;
	VEC(struct job) job;
	VEC(struct pd_side) side;
	size_t done; /* jobs */
	bool closed;
	bool failed; /* the thread's own, as is err */
	struct err err;
};

static void fault_some(struct pd_ahead *a)
{
	size_t walked = atomic_load_explicit(&a->walked, memory_order_relaxed);

	if (a->at < walked + FAULT_APART)
		a->at = walked + FAULT_APART;
	for (unsigned i = 0; i < FAULT_STEPS && a->at < a->len; i++) {
		(void)*(const volatile uint8_t *)(a->p + a->at);
		a->at += FAULT_STEP;
	}
}

/* The sides of the next chunk, copied, for more may come meanwhile (NULL: no memory). False: none
 * now. */
static bool take_job(struct pd_ahead *a, struct pd_chunk *c, struct pd_side **side, size_t *n)
{
	const struct job *j;

	if (a->done == a->job.n)
		return false;
	j = &a->job.v[a->done++];
	*c = j->chunk;
	*n = j->n;
	*side = malloc((j->n + 1) * sizeof(**side));
	if (*side && j->n)
		memcpy(*side, a->side.v + j->first, j->n * sizeof(**side));
	return true;
}

static void feed_job(struct pd_ahead *a, const struct pd_chunk *c, const struct pd_side *side,
		     size_t n)
{
	if (a->failed)
		return;
	a->failed = side ? pd_feed_sides(a->rec, c, side, n, &a->err) : err_nomem(&a->err);
}

static void *ahead_main(void *arg)
{
	struct pd_ahead *a = arg;

	while (!atomic_load_explicit(&a->stop, memory_order_relaxed)) {
		struct pd_side *side = NULL;
		struct pd_chunk c;
		bool job, closed;
		size_t n;

		(void)pthread_mutex_lock(&a->lock);
		while (!(job = take_job(a, &c, &side, &n)) && a->at >= a->len && !a->closed)
			(void)pthread_cond_wait(&a->more, &a->lock);
		closed = a->closed;
		(void)pthread_mutex_unlock(&a->lock);
		if (job)
			feed_job(a, &c, side, n);
		else if (closed)
			break;
		else
			fault_some(a);
		free(side);
	}
	return NULL;
}

struct pd_ahead *pd_ahead_start(const struct pd *rec, const struct pd_source *s, uint64_t off,
				uint64_t len)
{
	struct pd_ahead *a;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)off & ~(page - 1);

	if (s->own != PD_MAPPED)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->rec = rec;
	a->p = s->p + from;
	a->len = (size_t)(off - from + len);
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_cond_init(&a->more, NULL);
	if (!task_start(&a->thread, ahead_main, a))
		return a;
	(void)pthread_mutex_destroy(&a->lock);
	(void)pthread_cond_destroy(&a->more);
	free(a);
	return NULL;
}

int pd_ahead_chunk(struct pd_ahead *a, const struct pd_chunk *c, const struct pd_side *side,
		   size_t n, struct err *err)
{
	int rc;

	if (c->p >= a->p && c->end <= a->p + a->len) /* not one that was unpacked */
		atomic_store_explicit(&a->walked, (size_t)(c->end - a->p), memory_order_relaxed);
	if (!n)
		return 0;
	(void)pthread_mutex_lock(&a->lock);
	rc = vec_reserve(&a->side, a->side.n + n) ||
	     vec_push(&a->job, ((struct job){ *c, a->side.n, n }));
	if (!rc) {
		memcpy(a->side.v + a->side.n, side, n * sizeof(*side));
		a->side.n += n;
		(void)pthread_cond_signal(&a->more);
	}
	(void)pthread_mutex_unlock(&a->lock);
	return rc ? err_nomem(err) : 0;
}

int pd_ahead_end(struct pd_ahead *a, bool finish, struct err *err)
{
	int rc;

	if (!a)
		return 0;
	(void)pthread_mutex_lock(&a->lock);
	a->closed = true;
	(void)pthread_cond_signal(&a->more);
	(void)pthread_mutex_unlock(&a->lock);
	if (!finish)
		atomic_store(&a->stop, true);
	(void)pthread_join(a->thread, NULL);
	rc = a->failed && finish ? -1 : 0;
	if (rc && err)
		*err = a->err;
	(void)pthread_mutex_destroy(&a->lock);
	(void)pthread_cond_destroy(&a->more);
	vec_free(&a->job);
	vec_free(&a->side);
	free(a);
	return rc;
}
