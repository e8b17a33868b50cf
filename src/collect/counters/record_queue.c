/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/counters/record_queue.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SPARE_BLOCKS = 16, /* kept for reuse */
	READER_NICE = -10,
	DRAIN_NICE = -15,
};

struct block {
	struct block *next;
	size_t len;
	bool round; /* one ends behind it */
	unsigned char p[];
};

struct record_queue {
	struct recorder_sink sink;
	size_t most;
	struct block *fill; /* the draining thread's; NULL: none is begun */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t more, less;
	struct block *first, *last, *spare;
	size_t waiting, n_spare; /* bytes of the blocks that wait or are read */
	bool over, failed;
	struct err failure;
};

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

static void set_nice(int nice)
{
	/* not allowed: then the thread waits its turn */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
}

void record_queue_first(void)
{
	const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_RR) };

	if (pthread_setschedparam(pthread_self(), SCHED_RR, &least))
		set_nice(DRAIN_NICE);
}

/* ---- the reading thread ---------------------------------------------------------------------- */

static struct block *next_block(struct record_queue *q)
{
	struct block *b;

	(void)pthread_mutex_lock(&q->lock);
	while (!q->first && !q->over)
		(void)pthread_cond_wait(&q->more, &q->lock);
	b = q->first;
	if (b)
		q->first = b->next;
	(void)pthread_mutex_unlock(&q->lock);
	return b;
}

static void block_done(struct record_queue *q, struct block *b)
{
	(void)pthread_mutex_lock(&q->lock);
	q->waiting -= b->len;
	if (q->n_spare < SPARE_BLOCKS) {
		b->next = q->spare;
		q->spare = b;
		q->n_spare++;
		b = NULL;
	}
	(void)pthread_cond_signal(&q->less);
	(void)pthread_mutex_unlock(&q->lock);
	free(b);
}

static int give_block(struct record_queue *q, const struct block *b, struct err *err)
{
	if (b->len && q->sink.data(q->sink.ctx, b->p, b->len, err))
		return -1;
	return b->round ? q->sink.round(q->sink.ctx, err) : 0;
}

static void *read_blocks(void *arg)
{
	struct record_queue *q = arg;
	struct err err = ERR_INIT;
	struct block *b;
	bool failed = false;

	set_nice(READER_NICE);
	while ((b = next_block(q))) {
		if (!failed && give_block(q, b, &err)) {
			failed = true;
			(void)pthread_mutex_lock(&q->lock);
			q->failed = true;
			q->failure = err;
			(void)pthread_mutex_unlock(&q->lock);
			if (q->sink.failed)
				q->sink.failed(q->sink.ctx);
		}
		block_done(q, b);
	}
	return NULL;
}

/* ---- the draining thread --------------------------------------------------------------------- */

/* The lock is held. */
static int say_failure(const struct record_queue *q, struct err *err)
{
	if (err && err->code == ERR_NONE)
		*err = q->failure;
	return -1;
}

/* A block to fill: without memory for one more, when one has been read. */
static int begin_block(struct record_queue *q, struct err *err)
{
	int rc = 0;

	(void)pthread_mutex_lock(&q->lock);
	while (q->waiting > q->most && !q->failed)
		(void)pthread_cond_wait(&q->less, &q->lock);
	if (!q->spare) {
		q->fill = malloc(sizeof(*q->fill) + RECORD_QUEUE_BLOCK);
		while (!q->fill && !q->spare && q->waiting && !q->failed)
			(void)pthread_cond_wait(&q->less, &q->lock);
	}
	if (!q->fill && q->spare) {
		q->fill = q->spare;
		q->spare = q->fill->next;
		q->n_spare--;
	}
	if (q->failed)
		rc = say_failure(q, err);
	else if (!q->fill)
		rc = err_nomem(err);
	(void)pthread_mutex_unlock(&q->lock);
	if (q->fill) {
		q->fill->next = NULL;
		q->fill->len = 0;
		q->fill->round = false;
	}
	return rc;
}

static void hand_over(struct record_queue *q)
{
	struct block *b = q->fill;

	q->fill = NULL;
	(void)pthread_mutex_lock(&q->lock);
	if (q->first)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
	q->waiting += b->len;
	(void)pthread_cond_signal(&q->more);
	(void)pthread_mutex_unlock(&q->lock);
}

int record_queue_data(struct record_queue *q, const void *p, size_t len, struct err *err)
{
	while (len) {
		size_t n;

		if (!q->fill && begin_block(q, err))
			return -1;
		n = RECORD_QUEUE_BLOCK - q->fill->len;
		n = n < len ? n : len;
		memcpy(q->fill->p + q->fill->len, p, n);
		q->fill->len += n;
		p = (const unsigned char *)p + n;
		len -= n;
		if (q->fill->len == RECORD_QUEUE_BLOCK)
			hand_over(q);
	}
	return 0;
}

int record_queue_round(struct record_queue *q, struct err *err)
{
	if (!q->fill && begin_block(q, err))
		return -1;
	q->fill->round = true;
	hand_over(q);
	return 0;
}

/* ---- its life -------------------------------------------------------------------------------- */

int record_queue_start(struct record_queue **out, const struct recorder_sink *sink, size_t most,
		       struct err *err)
{
	struct record_queue *q = calloc(1, sizeof(*q));
	int rc;

	*out = NULL;
	if (!q)
		return err_nomem(err);
	q->sink = *sink;
	q->most = most;
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_cond_init(&q->more, NULL);
	(void)pthread_cond_init(&q->less, NULL);
	rc = pthread_create(&q->thread, NULL, read_blocks, q);
	if (rc) {
		record_queue_free(q);
		errno = rc;
		return err_sys(err, "starting the thread that reads records");
	}
	q->running = true;
	*out = q;
	return 0;
}

int record_queue_end(struct record_queue *q, struct err *err)
{
	if (!q || !q->running)
		return 0;
	if (q->fill)
		hand_over(q);
	(void)pthread_mutex_lock(&q->lock);
	q->over = true;
	(void)pthread_cond_signal(&q->more);
	(void)pthread_mutex_unlock(&q->lock);
	(void)pthread_join(q->thread, NULL);
	q->running = false;
	return q->failed ? say_failure(q, err) : 0;
}

void record_queue_free(struct record_queue *q)
{
	if (!q)
		return;
	(void)!record_queue_end(q, NULL);
	free_blocks(q->fill);
	free_blocks(q->first);
	free_blocks(q->spare);
	(void)pthread_mutex_destroy(&q->lock);
	(void)pthread_cond_destroy(&q->more);
	(void)pthread_cond_destroy(&q->less);
	free(q);
}
