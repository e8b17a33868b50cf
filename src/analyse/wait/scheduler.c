/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/scheduler.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/sort.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* Spans come in the order of their ends, each thread's one behind the other. */
struct building {
	struct sched *s;
	const struct wait *w;
	uint64_t *since; /* by thread: its delay began then; UINT64_MAX: it has none */
	uint64_t *until; /* by thread: the end of its last span */
	uint32_t *last;	 /* by thread: its last span's reason */
	struct sched_thread *of;
	VEC(struct keyed) delay; /* key: ns; a: thread */
	VEC(struct sched_cpu) cpus;
	struct u64map cpu_at; /* -> place in cpus */
	struct u64map on;     /* place in cpus and thread -> time */
	VEC(uint64_t) in;     /* [cpu][bin]: time of the thread that has the bin now */
};

static void sum_add(struct sched_sum *x, uint64_t time, uint64_t at)
{
	x->n++;
	x->time += time;
	if (time > x->most || x->n == 1) {
		x->most = time;
		x->most_at = at;
	}
}

static bool waits_for_cpu(const struct wait_span *x)
{
	return wait_reasons[x->reason].state == WAIT_RUNNABLE;
}

static void end_delay(struct building *b, const struct wait_span *x)
{
	uint64_t time;

	/* a new thread waits for a CPU since it was made able to run, not since fork() */
	if (b->w->thread[x->thread].started > b->since[x->thread] &&
	    b->w->thread[x->thread].started <= x->from)
		b->since[x->thread] = b->w->thread[x->thread].started;
	time = x->from - b->since[x->thread];

	sum_add(&b->of[x->thread].delay, time, b->since[x->thread]);
	sum_add(&b->s->delay, time, b->since[x->thread]);
	vec_xpush(&b->delay, ((struct keyed){ .key = time, .a = x->thread }));
}

/* A loss in the middle of a run makes two spans of it: they are one run if the thread stayed. */
static void add_run(struct building *b, const struct wait_span *x)
{
	struct sched_thread *t = &b->of[x->thread];
	bool goes_on = b->last[x->thread] == WAIT_RAN && b->until[x->thread] == x->from;
	uint64_t time = x->until - x->from;

	if (goes_on && t->run.n) {
		t->run.time += time;
		b->s->run.time += time;
		return;
	}
	sum_add(&t->run, time, x->from);
	sum_add(&b->s->run, time, x->from);
}

static void take_span(struct building *b, const struct wait_span *x)
{
	uint64_t *since = &b->since[x->thread];
	bool follows = b->until[x->thread] == x->from;

	if (waits_for_cpu(x)) {
		if (*since == UINT64_MAX || !follows)
			*since = x->from;
	} else {
		if (x->reason == WAIT_RAN && *since != UINT64_MAX && follows)
			end_delay(b, x);
		*since = UINT64_MAX;
	}
	if (x->reason == WAIT_RAN)
		add_run(b, x);
	b->last[x->thread] = x->reason;
	b->until[x->thread] = x->until;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

#define MAPPED 1024u /* CPUs that have bins */

static size_t cpu_of(struct building *b, uint32_t cpu)
{
	struct sched_cpu x = { .cpu = cpu, .most = WAIT_NOBODY };
	size_t bins = b->s->n_bins;
	bool fresh;
	uint64_t *at = u64map_xat(&b->cpu_at, cpu, &fresh);

	if (!fresh)
		return (size_t)*at;
	*at = b->cpus.n;
	if (bins && b->cpus.n < MAPPED) {
		x.bin = xmalloc(bins * sizeof(*x.bin));
		for (size_t i = 0; i < bins; i++) {
			x.bin[i] = WAIT_NOBODY;
			vec_xpush(&b->in, 0);
		}
	}
	vec_xpush(&b->cpus, x);
	return b->cpus.n - 1;
}

/* Time of a span in each bin goes to the thread that had most of it, by the votes of Boyer and
 * Moore: exact if one thread has more than half. */
static void fill_bins(struct building *b, size_t cpu, const struct wait_span *x)
{
	const struct wait *w = b->w;
	const double width = (double)(w->until - w->from) / (double)b->s->n_bins;
	size_t first = (size_t)((double)(x->from - w->from) / width), end = b->s->n_bins;

	for (size_t i = first; i < end; i++) {
		double low = (double)w->from + width * (double)i, high = low + width;
		double from = (double)x->from > low ? (double)x->from : low;
		double until = (double)x->until < high ? (double)x->until : high;
		uint64_t time = until > from ? (uint64_t)(until - from) : 0;
		uint64_t *has = &b->in.v[cpu * b->s->n_bins + i];
		uint32_t *who = &b->cpus.v[cpu].bin[i];

		if ((double)x->until <= low)
			return;
		if (*who == x->thread) {
			*has += time;
		} else if (*has >= time) {
			*has -= time;
		} else {
			*has = time - *has;
			*who = x->thread;
		}
	}
}

static void take_on_cpu(struct building *b, const struct wait_span *x)
{
	size_t i = cpu_of(b, x->cpu);
	struct sched_cpu *c = &b->cpus.v[i];
	uint64_t *time = u64map_xat(&b->on, (uint64_t)i << 32 | x->thread, NULL);

	c->runs++;
	c->time += x->until - x->from;
	c->threads += !*time;
	*time += x->until - x->from;
	if (*time > c->most_time) {
		c->most_time = *time;
		c->most = x->thread;
	}
	if (c->bin)
		fill_bins(b, i, x);
}

static int by_number(const void *pa, const void *pb)
{
	const struct sched_cpu *a = pa, *b = pb;

	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static void make_cpus(struct building *b)
{
	const struct wait *w = b->w;

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *x = &w->span[i];

		if (x->reason == WAIT_RAN && x->cpu != WAIT_NO_CPU && w->thread[x->thread].wanted)
			take_on_cpu(b, x);
	}
	if (b->cpus.n)
		qsort(b->cpus.v, b->cpus.n, sizeof(*b->cpus.v), by_number);
	b->s->cpu = b->cpus.v;
	b->s->n_cpus = b->cpus.n;
}

/* ---- quantiles, and the order ---------------------------------------------------------------- */

/* The smallest value that at least that part of the sorted ones does not exceed. */
static uint64_t part_of(const struct keyed *v, size_t n, double part)
{
	size_t at = (size_t)(part * (double)n);

	if ((double)at < part * (double)n)
		at++;
	return n ? v[at ? at - 1 : 0].key : UINT64_MAX;
}

static int by_thread(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

static int by_key(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	return (a->key > b->key) - (a->key < b->key);
}

static void make_parts(struct building *b)
{
	struct keyed *v = b->delay.v;
	size_t n = b->delay.n;

	b->s->p50 = b->s->p90 = b->s->p99 = UINT64_MAX;
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_key);
	b->s->p50 = part_of(v, n, 0.5);
	b->s->p90 = part_of(v, n, 0.9);
	b->s->p99 = part_of(v, n, 0.99);
	qsort(v, n, sizeof(*v), by_thread);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].a == v[i].a;)
			end++;
		b->of[v[i].a].p99 = part_of(v + i, end - i, 0.99);
	}
}

static int by_delay(const void *pa, const void *pb)
{
	const struct sched_thread *a = pa, *b = pb;

	if (a->delay.time != b->delay.time)
		return a->delay.time < b->delay.time ? 1 : -1;
	if (a->run.time != b->run.time)
		return a->run.time < b->run.time ? 1 : -1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

void sched_build(struct sched *s, const struct wait *w, size_t bins)
{
	struct building b = { .s = s, .w = w };
	size_t n = w->n_threads + 1;

	*s = (struct sched){ .n_bins = w->until > w->from ? bins : 0 };
	b.since = xmalloc(n * sizeof(*b.since));
	b.until = xcalloc(n, sizeof(*b.until));
	b.last = xcalloc(n, sizeof(*b.last));
	b.of = xcalloc(n, sizeof(*b.of));
	for (uint32_t i = 0; i < w->n_threads; i++) {
		b.since[i] = UINT64_MAX;
		b.of[i].thread = i;
		b.of[i].p99 = UINT64_MAX;
	}
	for (size_t i = 0; i < w->n_spans; i++)
		if (w->thread[w->span[i].thread].wanted)
			take_span(&b, &w->span[i]);
	make_parts(&b);
	make_cpus(&b);
	for (size_t i = 0; i < w->n_threads; i++) {
		if (!b.of[i].run.n && !b.of[i].delay.n)
			continue;
		s->moved += w->thread[i].moved;
		b.of[s->n_threads++] = b.of[i];
	}
	qsort(b.of, s->n_threads, sizeof(*b.of), by_delay);
	s->thread = b.of;
	free(b.since);
	free(b.until);
	free(b.last);
	u64map_free(&b.cpu_at);
	u64map_free(&b.on);
	vec_free(&b.in);
	vec_free(&b.delay);
}

void sched_free(struct sched *s)
{
	for (size_t i = 0; i < s->n_cpus; i++)
		free(s->cpu[i].bin);
	free(s->cpu);
	free(s->thread);
}
