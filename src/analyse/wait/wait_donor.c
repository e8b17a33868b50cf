/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_donor - waits that were recorded without a call chain, while there were many switches, get
 * that of another wait: of the same thread, ended by the same waker, near in time, and of the same
 * rank by length. Ranks, since a chain that is walked at a switch makes the wait a little longer. A
 * wait that is far longer than all with a chain gets none.
 *
 * A slice has about SLICE waits with a chain, one behind the other, and those without between them.
 * Costs: a sort or two of all waits, for each way of looking.
 */
#include <stdlib.h>

#include "analyse/wait/wait_int.h"
#include "base/sort.h"
#include "base/xalloc.h"

#define SLICE  (SLICE_MOST / 2)
#define LONG   65536u /* ns: from there on lengths must be alike ... */
#define LONGER 16u    /* ... within this factor */

/* Ways to find a donor, tried one after the other. */
static const struct way {
	bool any_waker; /* the same thread is enough */
	bool any_time;	/* also waits of a time when all had chains */
	bool place;	/* not the chain, but the waker's place */
} ways[] = {
	{ false, false, false }, { false, true, false }, { true, false, false },
	{ true, true, false },	 { false, true, true },
};

struct donating {
	struct wait_work *k;
	const struct way *way;
	struct keyed *give, *get; /* spans (a) by cell, and then time */
	struct keyed *scratch;
	size_t n_give, n_get;
};

static uint64_t donor_length_of(const struct wait_span *s)
{
	return s->until - s->from;
}

static bool is_wait(const struct wait_span *s)
{
	return s->reason == WAIT_OTHER || s->reason == WAIT_PREEMPTED;
}

static bool gives(const struct donating *d, const struct wait_span *s)
{
	if (d->way->place)
		return s->waker < d->k->thread.n && s->waker_place && s->reason != WAIT_WOKEN;
	return is_wait(s) && s->chain && !s->guessed && (s->sampled || d->way->any_time);
}

static bool gets(const struct donating *d, const struct wait_span *s)
{
	if (d->way->place)
		return s->waker < d->k->thread.n && !s->waker_place;
	return is_wait(s) && !s->chain;
}

/* Returns the key that waits of a cell share. */
static uint64_t donor_cell_of(const struct donating *d, const struct wait_span *s)
{
	uint64_t waker = d->way->any_waker ? 0 : s->waker;

	return (uint64_t)s->thread << 33 | waker << 1 |
	       (!d->way->place && s->reason == WAIT_PREEMPTED);
}

/* Those of a thread stand in the order of time already. */
static void gather_waits(struct donating *d)
{
	const struct wait_work *k = d->k;
	size_t bytes = (k->span.n + 1) * sizeof(*d->give);

	d->give = xmalloc(bytes);
	d->get = xmalloc(bytes);
	d->scratch = xmalloc(bytes);
	for (size_t i = 0; i < k->span.n; i++) {
		const struct wait_span *s = &k->span.v[i];
		const struct keyed x = { .key = donor_cell_of(d, s), .a = (uint32_t)i };

		if (gives(d, s))
			d->give[d->n_give++] = x;
		else if (gets(d, s))
			d->get[d->n_get++] = x;
	}
	keyed_sort(d->give, d->scratch, d->n_get ? d->n_give : 0);
	keyed_sort(d->get, d->scratch, d->n_give ? d->n_get : 0);
}

/* From here on the keys of a slice are lengths. */
static void donor_by_length(const struct donating *d, struct keyed *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].key = donor_length_of(&d->k->span.v[v[i].a]);
	keyed_sort(v, d->scratch, n);
}

/* ---- a slice --------------------------------------------------------------------------------- */

/* Returns true if all donors have one chain, and a thread ended them: then a long wait is as the
 * short ones. */
static bool donor_is_plain(const struct wait_work *k, const struct keyed *from, size_t n)
{
	const struct wait_span *first = &k->span.v[from->a];
	size_t same = 0;

	while (same < n && k->span.v[from[same].a].chain == first->chain &&
	       k->span.v[from[same].a].waker == first->waker)
		same++;
	return n >= 8 && same == n && first->waker < k->thread.n;
}

static void give_chains(struct donating *d, struct keyed *from, size_t n, struct keyed *to,
			size_t n_to)
{
	struct wait_work *k = d->k;
	bool plain = donor_is_plain(k, from, n);

	if (!n_to)
		return;
	if (!d->way->place) {
		const struct wait_span *first = &k->span.v[from[0].a];
		const struct donor_slice x = { .thread = first->thread,
					       .preempted = first->reason == WAIT_PREEMPTED,
					       .first = k->donor.n,
					       .n = n };

		for (size_t i = 0; i < n; i++)
			vec_xpush(&k->donor, k->span.v[from[i].a].chain);
		vec_xpush(&k->slice, x);
	}
	donor_by_length(d, from, n);
	donor_by_length(d, to, n_to);
	for (size_t i = 0; i < n_to; i++) {
		struct wait_span *s = &k->span.v[to[i].a];
		const struct wait_span *donor = &k->span.v[from[(2 * i + 1) * n / (2 * n_to)].a];

		if (d->way->place) {
			s->waker_place = donor->waker_place;
			continue;
		}
		if (!plain && donor_length_of(s) > LONG &&
		    donor_length_of(s) / LONGER > donor_length_of(donor))
			continue;
		s->chain = donor->chain;
		s->guessed = true;
		k->slice_of[to[i].a] = (uint32_t)k->slice.n - 1;
		k->slice.v[k->slice.n - 1].time += (double)donor_length_of(s);
	}
}

/* Those of a cell: n that give, n_to that get, in the order of time. */
static void share_out(struct donating *d, struct keyed *from, size_t n, struct keyed *to,
		      size_t n_to)
{
	const struct wait_span *span = d->k->span.v;
	size_t slices = n / SLICE ? n / SLICE : 1, at = 0;

	for (size_t i = 0; i < slices; i++) {
		size_t begin = i * n / slices, end = (i + 1) * n / slices, till = at;

		while (till < n_to &&
		       (i + 1 == slices || span[to[till].a].from < span[from[end].a].from))
			till++;
		give_chains(d, from + begin, end - begin, to + at, till - at);
		at = till;
	}
}

static size_t donor_run_of(const struct keyed *v, size_t at, size_t n)
{
	size_t end = at;

	while (end < n && v[end].key == v[at].key)
		end++;
	return end - at;
}

static void go(struct wait_work *k, const struct way *way)
{
	struct donating d = { .k = k, .way = way };

	size_t i = 0, j = 0;

	gather_waits(&d);

	while (i < d.n_give && j < d.n_get) {
		size_t n = donor_run_of(d.give, i, d.n_give),
		       n_to = donor_run_of(d.get, j, d.n_get);

		if (d.give[i].key < d.get[j].key) {
			i += n;
		} else if (d.give[i].key > d.get[j].key) {
			j += n_to;
		} else {
			share_out(&d, d.give + i, n, d.get + j, n_to);
			i += n;
			j += n_to;
		}
	}
	free(d.give);
	free(d.get);
	free(d.scratch);
}

/* ---- wake-ups -------------------------------------------------------------------------------- */

/* The wake-up behind a wait has the chain of the wait. */
static void follow_wakings(struct wait_work *k)
{
	uint32_t *last = xmalloc((k->thread.n + 1) * sizeof(*last));

	for (size_t i = 0; i < k->thread.n; i++)
		last[i] = UINT32_MAX;
	for (size_t i = 0; i < k->span.n; i++) {
		struct wait_span *s = &k->span.v[i];
		uint32_t b = last[s->thread];

		last[s->thread] = (uint32_t)i;
		if (s->reason != WAIT_WOKEN || s->chain || b == UINT32_MAX ||
		    !k->span.v[b].guessed || k->span.v[b].until != s->from)
			continue;
		s->chain = k->span.v[b].chain;
		s->guessed = true;
		k->slice.v[k->slice_of[b]].woken += (double)donor_length_of(s);
	}
	free(last);
}

int wait_donate(struct wait_work *k, struct err *err)
{
	if (!k->thinned)
		return 0;
	if (k->span.n >= UINT32_MAX / 2)
		return err_set(err, ERR_LIMIT, "too many waits");
	k->slice_of = xcalloc(k->span.n + 1, sizeof(*k->slice_of));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		go(k, &ways[i]);
	follow_wakings(k);
	return 0;
}
