/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_bar - errors of the sums by reason, place and chain, if waits have the chain of another one
 * (wait_donor.c).
 *
 * If x of a slice's n waits with a chain of their own belong to a row: the row's part of the
 * slice's other time T is p = x / n, with a variance of T^2 p (1 - p) / n. Half a wait more is in
 * x, so that a bar is there even if all are alike.
 */
#include <math.h>

#include "analyse/wait/wait_int.h"
#include "base/estimate.h"
#include "base/xalloc.h"

struct bars {
	struct wait_work *k;
	struct u64map place_at, chain_at; /* row_key() -> row */
};

static uint64_t bar_row_key(uint32_t at, uint8_t reason)
{
	return (uint64_t)at << 8 | reason;
}

static void number_rows(struct u64map *at, const struct wait_at *v, size_t n, bool by_chain)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t *p = u64map_xat(
			at, bar_row_key(by_chain ? v[i].chain : v[i].place, v[i].reason), NULL);

		*p = i;
	}
}

/* The key of a donor's counts: a reason, a place or a chain. */
enum of { OF_REASON, OF_PLACE, OF_CHAIN };

static struct wait_time *bar_row_of(const struct bars *b, enum of of, uint32_t chain,
				    uint8_t reason)
{
	struct wait *w = b->k->out;
	const uint64_t *at;

	if (of == OF_REASON)
		return &w->reason[reason].t;
	at = of == OF_PLACE ? u64map_find(&b->place_at, bar_row_key(b->k->at[chain], reason))
			    : u64map_find(&b->chain_at, bar_row_key(chain, reason));
	if (!at)
		return NULL;
	return of == OF_PLACE ? &w->place_sum[*at].t : &w->chain_sum[*at].t;
}

static uint8_t bar_reason_of(const struct bars *b, const struct donor_slice *s, uint32_t chain)
{
	uint8_t reason = b->k->reason[chain];

	return s->preempted && reason != WAIT_THROTTLED ? (uint8_t)WAIT_PREEMPTED : reason;
}

/* Variances first, of `time` that the slice shares out. */
static void add_slice(struct bars *b, const struct donor_slice *s, enum of of, double time,
		      bool woken)
{
	struct wait_time *row[SLICE_MOST];
	uint32_t x[SLICE_MOST];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t chain = b->k->donor.v[s->first + i];
		uint8_t reason = woken ? (uint8_t)WAIT_WOKEN : bar_reason_of(b, s, chain);
		struct wait_time *t = bar_row_of(b, of, chain, reason);
		size_t at = 0;

		while (at < n && row[at] != t)
			at++;
		if (at == n) {
			row[n] = t;
			x[n++] = 0;
		}
		x[at]++;
	}
	for (size_t i = 0; i < n; i++) {
		double p = (x[i] + 0.5) / ((double)s->n + 1);

		if (row[i])
			row[i]->bar += time * time * p * (1 - p) / (double)s->n;
	}
}

static void finish_bars(struct wait_time *t)
{
	t->bar = Z95 * sqrt(t->bar);
}

static void sum_bars(struct bars *b)
{
	struct wait *w = b->k->out;

	vec_each (&b->k->slice, const struct donor_slice *, s) {
		if (!b->k->thread.v[s->thread].wanted)
			continue;
		add_slice(b, s, OF_REASON, s->time, false);
		add_slice(b, s, OF_PLACE, s->time, false);
		add_slice(b, s, OF_CHAIN, s->time, false);
		add_slice(b, s, OF_PLACE, s->woken, true);
		add_slice(b, s, OF_CHAIN, s->woken, true);
	}
	for (size_t i = 0; i < WAIT_REASONS; i++)
		finish_bars(&w->reason[i].t);
	for (size_t i = 0; i < w->n_place_sums; i++)
		finish_bars(&w->place_sum[i].t);
	for (size_t i = 0; i < w->n_chain_sums; i++)
		finish_bars(&w->chain_sum[i].t);
}

void wait_bars(struct wait_work *k)
{
	struct wait *w = k->out;
	struct bars b = { .k = k };

	if (!k->slice.n)
		return;
	number_rows(&b.place_at, w->place_sum, w->n_place_sums, false);
	number_rows(&b.chain_at, w->chain_sum, w->n_chain_sums, true);
	sum_bars(&b);
	u64map_free(&b.place_at);
	u64map_free(&b.chain_at);
}
