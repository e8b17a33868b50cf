/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_pin - level 1 as a group that never leaves the counters.
 *
 * Slots and the fields of PERF_METRICS have a counter that nothing else uses: a group that keeps it
 * costs the others next to nothing, and saves them these events. All fields that wanted metrics
 * need are in it, since no other group can have one then.
 *
 * Cycles on a fixed counter of their own go into every other group: they show how much of the
 * program each saw (slices.h), in place of slots.
 *
 * If level 1 needs general counters, it stays among those that take turns: a pinned group of four
 * on a thread that has four would leave nothing to measure the rest with. Nor does it get more
 * turns than others: on a simulated Ivy Bridge with two turns a round its bars are 4 % narrower,
 * those of all other nodes 10 to 20 % wider (its events are in groups of deeper nodes, too).
 */
#include <string.h>

#include "model/event_same.h"
#include "model/plan/plan_int.h"

#define FEW 4 /* no more than a FEWth of the general counters may go */

static void add_events(const struct planning *k, size_t metric, uint64_t *bits)
{
	for (size_t w = 0; w < k->words; w++)
		bits[w] |= k->needs[metric].full[w];
}

/* The events of level 1, as far as it is wanted, and of the values that it shares with others. */
static bool level_1_events(const struct planning *k, uint64_t *bits)
{
	bool any = false;

	for (size_t i = 0; i < k->m->n_metrics; i++) {
		if (!k->wanted[i] || k->m->metric[i].level != 1)
			continue;
		any = true;
		add_events(k, i, bits);
		for (size_t j = 0; j < i; j++)
			if (bit_test(k->common, j) && bit_test(k->needs[i].aux, j))
				add_events(k, j, bits);
	}
	return any;
}

static bool asked_for(const struct planning *k, size_t event)
{
	for (size_t i = 0; i < k->m->n_metrics; i++)
		if (k->wanted[i] &&
		    (bit_test(k->needs[i].full, event) || bit_test(k->needs[i].threshold, event)))
			return true;
	return false;
}

/* Fields of PERF_METRICS, and other names of its events. */
static void more_events(const struct planning *k, uint64_t *bits)
{
	const struct model_event *e = k->m->event;
	bool slots = false;

	for (size_t i = 0; i < k->m->n_used; i++)
		slots |= bit_test(bits, i) && e[i].flags & (EVENT_SLOTS | EVENT_METRIC);
	for (size_t i = 0; i < k->m->n_used; i++) {
		if (bit_test(bits, i))
			continue;
		if (slots && e[i].flags & (EVENT_SLOTS | EVENT_METRIC) && asked_for(k, i))
			bit_set(bits, i);
		for (size_t j = 0; j < k->m->n_used && !bit_test(bits, i); j++)
			if (bit_test(bits, j) && event_same(k->m, (uint32_t)i, (uint32_t)j))
				bit_set(bits, i);
	}
}

/* Everything wanted that has a fixed counter here, and fields of PERF_METRICS. */
static bool fixed_events(const struct planning *k, uint64_t *bits)
{
	uint32_t fixed = schedule_limits_fixed(&k->l);
	bool any = false;

	for (size_t i = 0; i < k->m->n_used; i++) {
		const struct model_event *e = &k->m->event[i];

		if (!(e->fixed & fixed || e->flags & EVENT_METRIC) || !asked_for(k, i))
			continue;
		bit_set(bits, i);
		any = true;
	}
	return any;
}

/* No more than `most` general counters go. */
static bool few_counters(const struct planning *k, const struct schedule_group *g, unsigned most)
{
	uint8_t counter[256];
	uint64_t general = 0;

	if (g->n > sizeof(counter) || !schedule_place(k->m, &k->l, g->event, g->n, counter))
		return false;
	for (size_t i = 0; i < g->n; i++)
		if (counter[i] < SCHEDULE_FIXED)
			general |= 1ULL << counter[i];
	return (unsigned)__builtin_popcountll(general) <= most;
}

static int list_pinned_events(struct planning *k, const uint64_t *bits, struct schedule_set *out,
			      struct err *err)
{
	uint32_t *ev = arena_alloc(&k->scratch, (k->m->n_used + 1) * sizeof(*ev));

	if (!ev)
		return err_nomem(err);
	for (size_t i = 0; i < k->m->n_used; i++)
		if (bit_test(bits, i) && !(k->m->event[i].flags & (EVENT_SOFTWARE | EVENT_UNCORE)))
			ev[out->n++] = (uint32_t)i;
	out->event = ev;
	return 0;
}

uint32_t plan_free_cycles(const struct planning *k)
{
	uint32_t e = event_cycles(k->m), fixed;

	if (e == MODEL_NONE || e >= k->m->n_used)
		return MODEL_NONE;
	fixed = k->m->event[e].fixed & schedule_limits_fixed(&k->l);
	for (size_t i = 0; i < k->l.n_beside; i++)
		if (k->m->event[k->l.beside[i]].fixed & fixed)
			return MODEL_NONE;
	return fixed ? e : MODEL_NONE;
}

int plan_pin(struct planning *k, struct err *err)
{
	uint64_t *bits = arena_alloc(&k->scratch, k->words * sizeof(*bits));
	struct schedule_set set = { .n = 0 };
	struct schedule s;

	if (!bits)
		return err_nomem(err);
	if (!(k->w->pin_fixed ? fixed_events(k, bits) : level_1_events(k, bits)))
		return 0;
	more_events(k, bits);
	if (list_pinned_events(k, bits, &set, err) ||
	    schedule_make(&s, k->a, k->m, &k->l, &set, 1, err))
		return -1;
	if (s.n_core != 1 || s.n_split ||
	    !few_counters(k, &s.group[0], k->w->pin_fixed ? 0 : k->l.counters / FEW))
		return 0;
	k->group[k->n_groups++] = (struct plan_group){
		.event = s.group[0].event, .n = s.group[0].n, .core = true, .pinned = true
	};
	k->l.beside = s.group[0].event;
	k->l.n_beside = s.group[0].n;
	k->filler = plan_free_cycles(k);
	return 0;
}
