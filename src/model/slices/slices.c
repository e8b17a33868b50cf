/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping readings, and forgetting every second old one when there are too many.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "model/slices/slices_int.h"

#define DEFAULT_BYTES ((size_t)64 << 20)
#define FEWEST_KEPT   32 /* readings of a group below which none is forgotten */

static int keep_group(struct slices *s, struct slices_kept *k, const struct slices_group *g,
		      uint64_t start, struct err *err)
{
	k->n = g->n;
	k->stride = g->n * s->n_targets;
	k->event = arena_memdup(&s->arena, g->event, g->n * sizeof(*k->event));
	k->last = arena_alloc(&s->arena, k->stride * sizeof(*k->last) + 1);
	k->seen = arena_alloc(&s->arena, k->stride + 1);
	k->same = arena_alloc(&s->arena, k->stride * sizeof(*k->same) + 1);
	k->member = arena_alloc(&s->arena, g->n * sizeof(*k->member) + 1);
	k->stepped = g->stepped ? arena_memdup(&s->arena, g->stepped, g->n) : NULL;
	if (!k->event || !k->last || !k->seen || !k->same || !k->member ||
	    (g->stepped && !k->stepped))
		return err_nomem(err);
	if (vec_push(&k->t, start) || vec_reserve(&k->cell, k->stride))
		return err_nomem(err);
	if (k->stride)
		memset(k->cell.v, 0, k->stride * sizeof(*k->cell.v));
	k->cell.n = k->stride;
	return 0;
}

static bool has_before(const struct slices_kept *k, size_t n, uint32_t event)
{
	for (size_t e = 0; e < n; e++)
		if (k->event[e] == event)
			return true;
	return false;
}

/* In how many groups each event is. */
static void count_homes(const struct slices *s, uint32_t *homes)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];

		for (size_t e = 0; e < k->n; e++)
			homes[k->event[e]] += !has_before(k, e, k->event[e]);
	}
}

/* Events that are this group's alone, each once, then those that it shares. */
static void find_members(struct slices_kept *k, const uint32_t *homes)
{
	for (uint32_t e = 0; e < k->n; e++)
		if (homes[k->event[e]] == 1 && !has_before(k, e, k->event[e]))
			k->member[k->n_members++] = e;
	k->n_own = k->n_members;
	for (uint32_t e = 0; e < k->n; e++)
		if (homes[k->event[e]] > 1)
			k->member[k->n_members++] = e;
}

/* Who is in which group, of the result too: each event once. */
static int find_homes(struct slices *s, struct err *err)
{
	size_t events = s->n_events + 1, n = 0;
	uint32_t *homes = calloc(events, sizeof(*homes));

	s->shared = arena_alloc(&s->arena, events * sizeof(*s->shared));
	s->out = arena_alloc(&s->arena, events * sizeof(*s->out));
	s->first = arena_alloc(&s->arena, (s->n_groups + 2) * sizeof(*s->first));
	if (!homes || !s->shared || !s->out || !s->first)
		goto out;
	count_homes(s, homes);
	for (size_t g = 0; g < s->n_groups; g++) {
		struct slices_kept *k = &s->group[g];

		find_members(k, homes);
		for (size_t m = 0; m < k->n_own; m++)
			s->out[n++] = k->event[k->member[m]];
		s->first[g + 1] = (uint32_t)n;
	}
	for (uint32_t e = 0; e < s->n_events; e++)
		if (homes[e] > 1)
			s->shared[s->n_shared++] = s->out[n++] = e;
	s->first[s->n_groups + 1] = (uint32_t)n;
	assert(n <= s->n_events && s->n_shared <= n); /* each event once */
	assert(pairs_hold(s->n_groups + 2, i, s->first[i] <= s->first[i + 1]));
	s->member = arena_alloc(&s->arena, (s->n_shared + 1) * sizeof(*s->member));
	s->same = arena_alloc(&s->arena, (s->n_shared * s->n_targets + 1) * sizeof(*s->same));
	for (uint32_t e = 0; s->member && s->same && e < s->n_shared; e++) {
		s->member[e] = e;
		for (size_t t = 0; t < s->n_targets; t++)
			s->same[e * s->n_targets + t] = e;
	}
out:
	free(homes);
	return s->member && s->same ? 0 : err_nomem(err);
}

static double *unknown_reading(struct slices *s, size_t n)
{
	double *v = arena_alloc(&s->arena, (n + 1) * sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = NAN;
	return v;
}

/* Rows and arrays for the counts. */
static int make_results(struct slices *s, struct err *err)
{
	size_t n = s->n_targets;

	s->count = unknown_reading(s, s->n_events * n);
	s->long_count = unknown_reading(s, s->n_events * n);
	s->counted = unknown_reading(s, s->n_events);
	s->quantum = arena_alloc(&s->arena, (s->n_events + 1) * sizeof(*s->quantum));
	s->total = arena_alloc(&s->arena, (n + 1) * sizeof(*s->total));
	s->ref = arena_alloc(&s->arena, (n + 1) * sizeof(*s->ref));
	return s->count && s->long_count && s->counted && s->quantum && s->total && s->ref
		       ? 0
		       : err_nomem(err);
}

int slices_new(struct slices **out, const struct slices_setup *setup, struct err *err)
{
	struct slices *s = calloc(1, sizeof(*s));

	if (!s)
		return err_nomem(err);
	s->n_events = setup->n_events;
	s->n_targets = setup->n_targets;
	s->max_bytes = setup->max_bytes ? setup->max_bytes : DEFAULT_BYTES;
	s->group = arena_alloc(&s->arena, (setup->n_groups + 1) * sizeof(*s->group));
	if (!s->group) {
		err_nomem(err);
		goto fail;
	}
	for (size_t g = 0; g < setup->n_groups; g++) {
		const struct slices_group *from = &setup->group[g];

		for (size_t e = 0; e < from->n; e++) {
			if (from->event[e] < setup->n_events)
				continue;
			err_set(err, ERR_LIMIT, "group %zu: event %u of a model of %zu", g,
				from->event[e], setup->n_events);
			goto fail;
		}
		s->n_groups++;
		if (keep_group(s, &s->group[g], from, setup->start, err))
			goto fail;
	}
	if (find_homes(s, err) || make_results(s, err))
		goto fail;
	*out = s;
	return 0;
fail:
	slices_free(s);
	return -1;
}

/* A slice becomes part of the next: a moment in which it was on stands for both. */
static void merge_states(struct slices_kept *k, size_t i)
{
	if (k->state.n && k->state.v[i] != k->state.v[i + 1])
		k->state.v[i + 1] = SLICES_VISIT;
}

/* Drops every second reading of the older half. Their counts stay, in longer slices. */
static void forget_slices(struct slices_kept *k)
{
	size_t half = k->t.n / 2, to = 1;

	for (size_t i = 1; i < k->t.n; i++) {
		if (i < half && i % 2) {
			merge_states(k, i);
			continue;
		}
		k->t.v[to] = k->t.v[i];
		if (k->state.n)
			k->state.v[to] = k->state.v[i];
		memmove(&k->cell.v[to * k->stride], &k->cell.v[i * k->stride],
			k->stride * sizeof(*k->cell.v));
		to++;
	}
	k->t.n = to;
	k->state.n = k->state.n ? to : 0;
	k->cell.n = to * k->stride;
}

static void make_slices_room(struct slices *s)
{
	struct slices_kept *most = NULL;
	size_t bytes = 0;

	for (size_t g = 0; g < s->n_groups; g++) {
		struct slices_kept *k = &s->group[g];

		bytes += k->cell.n * sizeof(*k->cell.v);
		if (k->t.n >= FEWEST_KEPT && (!most || k->cell.n > most->cell.n))
			most = k;
	}
	if (bytes > s->max_bytes && most)
		forget_slices(most);
}

/* Events of a group are read at once, and mostly have the same times: which those are that always
 * had is known to `same`. One that differs now is for itself. */
static void find_same(const struct slices *s, struct slices_kept *k, const struct slices_cell *c)
{
	size_t n = s->n_targets;

	for (size_t i = n; i < k->stride; i++) {
		const struct slices_cell *lead = &c[k->same[i] * n + i % n];

		if (c[i].enabled != lead->enabled || c[i].running != lead->running)
			k->same[i] = (uint32_t)(i / n);
	}
}

/* One more reading, the same as the last. */
static int push_reading(struct slices *s, struct slices_kept *k, uint64_t t, struct err *err)
{
	struct slices_cell *to;

	make_slices_room(s);
	if (vec_push(&k->t, t) || vec_reserve(&k->cell, k->cell.n + k->stride) ||
	    (k->state.n && vec_push(&k->state, (uint8_t)k->now)))
		return err_nomem(err);
	k->cell.n += k->stride;
	to = &k->cell.v[k->cell.n - k->stride];
	if (k->stride)
		memcpy(to, to - k->stride, k->stride * sizeof(*to));
	return 0;
}

int slices_switch(struct slices *s, size_t group, uint64_t t, enum slices_state to, struct err *err)
{
	struct slices_kept *k = &s->group[group];

	if (to == k->now)
		return 0;
	while (k->state.n < k->t.n)
		if (vec_push(&k->state, (uint8_t)k->now))
			return err_nomem(err);
	if (t > k->t.v[k->t.n - 1] && push_reading(s, k, t, err))
		return -1;
	k->now = to;
	return 0;
}

int slices_catch_up(struct slices *s, struct err *err)
{
	uint64_t latest = 0;

	for (size_t g = 0; g < s->n_groups; g++) {
		uint64_t t = s->group[g].t.v[s->group[g].t.n - 1];

		latest = t > latest ? t : latest;
	}
	for (size_t g = 0; g < s->n_groups; g++) {
		struct slices_kept *k = &s->group[g];

		if (k->now == SLICES_OFF && k->t.v[k->t.n - 1] < latest &&
		    push_reading(s, k, latest, err))
			return -1;
	}
	return 0;
}

int slices_add(struct slices *s, size_t group, uint64_t t, const struct slices_reading *r,
	       struct err *err)
{
	struct slices_kept *k = &s->group[group];
	struct slices_cell *to;
	const struct slices_cell *from;

	if (t < k->t.v[k->t.n - 1])
		return err_set(err, ERR_LIMIT, "a reading of group %zu that is older than its last",
			       group);
	if ((t > k->t.v[k->t.n - 1] || k->t.n == 1) && push_reading(s, k, t, err))
		return -1;
	to = k->cell.v + k->cell.n - k->stride;
	from = to - k->stride;
	for (size_t i = 0; i < k->stride; i++) {
		uint64_t more;

		if (r[i].missing)
			continue;
		k->seen[i] = true;
		more = r[i].value >= k->last[i] ? r[i].value - k->last[i] : r[i].value;
		k->last[i] = r[i].value;
		to[i].value += (double)more;
		/* times are not reset; should one go back all the same, nothing was seen */
		if ((double)r[i].enabled > from[i].enabled)
			to[i].enabled = (double)r[i].enabled;
		if ((double)r[i].running > from[i].running)
			to[i].running = (double)r[i].running;
	}
	find_same(s, k, to);
	return 0;
}

void slices_free(struct slices *s)
{
	if (!s)
		return;
	for (size_t g = 0; g < s->n_groups; g++) {
		vec_free(&s->group[g].t);
		vec_free(&s->group[g].state);
		vec_free(&s->group[g].cell);
	}
	arena_free(&s->scratch);
	arena_free(&s->arena);
	free(s);
}
