/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_sum - spans summed by thread, reason, place, chain and waker.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/wait/wait_int.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "base/xalloc.h"

static void add_waited(struct wait_time *t, uint64_t time)
{
	t->n++;
	t->time += time;
	if (time > t->most)
		t->most = time;
}

struct summing {
	struct wait_work *k;
	struct u64map by_place, by_chain, by_waker;
	VEC(struct wait_at) place, chain;
	VEC(struct wait_waker) waker;
	struct wait_things things;
};

/* ---- wakers: by waker, its place, the thread woken and its reason
 * ----------------------------------------------- */

static void add_waker(struct summing *m, const struct wait_span *s)
{
	/* 64 bits of a hash distinguish them well enough */
	uint64_t key = hash_pair(hash_pair(s->waker, s->waker_place),
				 (uint64_t)s->thread << 8 | s->reason);
	const struct wait_waker x = { s->waker, s->waker_place, s->thread, s->reason, { 0 } };
	bool fresh;
	uint64_t *at;

	if (s->waker == WAIT_NOBODY || s->reason == WAIT_WOKEN)
		return;
	at = u64map_xat(&m->by_waker, key, &fresh);
	if (fresh) {
		*at = m->waker.n;
		vec_xpush(&m->waker, x);
	}
	add_waited(&m->waker.v[*at].t, s->until - s->from);
}

static void add_at(struct summing *m, const struct wait_span *s)
{
	const struct wait_at x = { m->k->at[s->chain], s->chain, s->reason, { 0 } };
	uint64_t time = s->until - s->from, *at;
	bool fresh;

	if (s->reason == WAIT_RAN || s->reason == WAIT_LOST)
		return;
	at = u64map_xat(&m->by_place, (uint64_t)x.place << 8 | x.reason, &fresh);
	if (fresh) {
		*at = m->place.n;
		vec_xpush(&m->place, x);
	}
	add_waited(&m->place.v[*at].t, time);
	at = u64map_xat(&m->by_chain, (uint64_t)x.chain << 8 | x.reason, &fresh);
	if (fresh) {
		*at = m->chain.n;
		vec_xpush(&m->chain, x);
	}
	add_waited(&m->chain.v[*at].t, time);
}

static void add_thing(struct summing *m, const struct wait_span *s)
{
	uint64_t time = s->until - s->from;
	const struct wait_thing x = { .object = s->object,
				      .line = s->from_line,
				      .place = m->k->at[s->chain],
				      .reason = s->reason,
				      .t = { 1, time, time, 0 } };

	if (s->reason == WAIT_IDLE || s->reason == WAIT_BEFORE || s->reason == WAIT_NO_STACK ||
	    (wait_reasons[s->reason].state != WAIT_BLOCKED && s->reason != WAIT_THROTTLED))
		return;
	things_add(&m->things, m->k->out, s->thread, &x);
}

static void add_waited_span(struct summing *m, const struct wait_span *s)
{
	struct wait_thread *t = &m->k->thread.v[s->thread];
	struct wait_reason_sum *r = &m->k->out->reason[s->reason];
	uint64_t time = s->until - s->from;

	t->time[s->reason] += time;
	if (!t->wanted)
		return;
	if (wait_reasons[s->reason].state == WAIT_BLOCKED || s->reason == WAIT_PREEMPTED) {
		m->k->out->waits++;
		m->k->out->guessed += s->guessed;
		m->k->out->chainless += !s->chain;
	}
	add_waited(&r->t, time);
	r->bucket[63 - (unsigned)__builtin_clzll(time)]++;
	add_at(m, s);
	add_thing(m, s);
	add_waker(m, s);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static uint64_t waited_quantile(const struct keyed *v, uint64_t n, unsigned percent)
{
	uint64_t at = (n * percent + 99) / 100;

	return v[at ? at - 1 : 0].key;
}

static void fill_quantiles(struct wait_work *k)
{
	struct wait_reason_sum *r = k->out->reason;
	struct keyed *v = xmalloc((k->span.n + 1) * 2 * sizeof(*v));
	size_t at[WAIT_REASONS + 1] = { 0 }, fill[WAIT_REASONS];

	for (size_t i = 0; i < WAIT_REASONS; i++) {
		at[i + 1] = at[i] + r[i].t.n;
		fill[i] = at[i];
	}
	vec_each (&k->span, const struct wait_span *, s)
		if (k->thread.v[s->thread].wanted)
			v[fill[s->reason]++] = (struct keyed){ .key = s->until - s->from };
	for (size_t i = 0; i < WAIT_REASONS; i++) {
		struct keyed *mine = v + at[i];

		keyed_sort(mine, v + k->span.n, r[i].t.n);
		if (!r[i].t.n)
			continue;
		r[i].p50 = waited_quantile(mine, r[i].t.n, 50);
		r[i].p90 = waited_quantile(mine, r[i].t.n, 90);
		r[i].p99 = waited_quantile(mine, r[i].t.n, 99);
	}
	free(v);
}

/* ---- in order -------------------------------------------------------------------------------- */

static int waited_by_time(const struct wait_time *a, const struct wait_time *b)
{
	return (a->time < b->time) - (a->time > b->time);
}

/* Threads without work are of least concern. */
static bool is_idle(uint8_t reason)
{
	return reason == WAIT_IDLE || reason == WAIT_BEFORE;
}

static int longest_at(const void *pa, const void *pb)
{
	const struct wait_at *a = pa, *b = pb;
	int rc = is_idle(a->reason) != is_idle(b->reason) ? is_idle(a->reason) - is_idle(b->reason)
							  : waited_by_time(&a->t, &b->t);

	if (rc || a->place != b->place)
		return rc ? rc : a->place < b->place ? -1 : 1;
	return a->reason != b->reason ? (int)a->reason - (int)b->reason
				      : (a->chain > b->chain) - (a->chain < b->chain);
}

static int longest_waker(const void *pa, const void *pb)
{
	const struct wait_waker *a = pa, *b = pb;
	int rc = is_idle(a->reason) != is_idle(b->reason) ? is_idle(a->reason) - is_idle(b->reason)
							  : waited_by_time(&a->t, &b->t);

	if (rc || a->thread != b->thread)
		return rc ? rc : a->thread < b->thread ? -1 : 1;
	return (a->waker > b->waker) - (a->waker < b->waker);
}

void wait_sum(struct wait_work *k)
{
	struct summing m = { .k = k };

	for (size_t i = 0; i < k->span.n; i++)
		add_waited_span(&m, &k->span.v[i]);
	assert(all_hold(k->thread.n, i,
			wait_thread_time(&k->thread.v[i], WAIT_STATES) ==
				k->thread.v[i].until - k->thread.v[i].from));
	things_end(&m.things, k->out);
	vec_sort(&m.place, longest_at);
	vec_sort(&m.chain, longest_at);
	vec_sort(&m.waker, longest_waker);
	k->out->place_sum = m.place.v;
	k->out->n_place_sums = m.place.n;
	k->out->chain_sum = m.chain.v;
	k->out->n_chain_sums = m.chain.n;
	k->out->waker = m.waker.v;
	k->out->n_wakers = m.waker.n;
	u64map_free(&m.by_place);
	u64map_free(&m.by_chain);
	u64map_free(&m.by_waker);
	fill_quantiles(k);
}
