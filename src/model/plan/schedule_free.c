/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_free - which counters others hold, found by trying groups of events: copies of one event
 * that any general counter can take, each event with a fixed counter beside as many, and copies of
 * events that only some counters can take.
 */
#include <string.h>

#include "model/schedule.h"

#define COUNTERS_MAX 16
#define EVENTS_MAX   (COUNTERS_MAX + 32)
#define MASKS_MAX    8
#define WEIRD                                                                              \
	(EVENT_SLOTS | EVENT_METRIC | EVENT_TAKEN_ALONE | EVENT_OFFCORE | EVENT_FRONTEND | \
	 EVENT_LDLAT | EVENT_PAIR | EVENT_SOFTWARE | EVENT_UNCORE | EVENT_SMT_EXCLUSIVE |  \
	 EVENT_DEPRECATED)

struct trial {
	const struct model *m;
	struct schedule_limits *l;
	const struct schedule_try *how;
	uint32_t general; /* an event that takes any general counter, and no other */
	uint32_t all;	  /* general counters, a bit each */
	uint32_t fixed_event[32];
	uint32_t event[EVENTS_MAX];
	size_t n;
};

static uint32_t counters_of(const struct trial *t, uint32_t event)
{
	const struct model_event *e = &t->m->event[event];

	return (t->l->smt ? e->counters : e->counters_alone) & t->all;
}

static bool is_plain(const struct model_event *e)
{
	return !(e->flags & WEIRD) && *e->code && !*e->pmu;
}

static enum schedule_tried ask_if_free(const struct trial *t)
{
	return t->n ? t->how->fits(t->how->ctx, t->event, t->n) : SCHEDULE_FITS;
}

static void add_free_event(struct trial *t, uint32_t event, unsigned copies)
{
	while (copies-- && t->n < EVENTS_MAX)
		t->event[t->n++] = event;
}

/* The event with the most counters, and for each fixed counter one that can be on it. */
static bool find_free_events(struct trial *t)
{
	t->general = MODEL_NONE;
	memset(t->fixed_event, 0xff, sizeof(t->fixed_event));
	for (uint32_t i = 0; i < t->m->n_used; i++) {
		const struct model_event *e = &t->m->event[i];

		for (unsigned f = 0; f < t->l->fixed && f < 32; f++)
			if (e->fixed >> f & 1 && t->fixed_event[f] == MODEL_NONE && *e->code &&
			    !(e->flags & (EVENT_METRIC | EVENT_SOFTWARE | EVENT_UNCORE)))
				t->fixed_event[f] = i;
		if (e->fixed || !is_plain(e))
			continue;
		if (t->general == MODEL_NONE ||
		    __builtin_popcount(counters_of(t, i)) >
			    __builtin_popcount(counters_of(t, t->general)))
			t->general = i;
	}
	return t->general != MODEL_NONE && counters_of(t, t->general) == t->all;
}

/* The most copies of an event that get on at once, no more than `most`; -1: not known. */
static int most_copies(struct trial *t, uint32_t event, unsigned most)
{
	unsigned low = 0, high = most;

	while (low < high) {
		unsigned mid = (low + high + 1) / 2;
		enum schedule_tried got;

		t->n = 0;
		add_free_event(t, event, mid);
		got = ask_if_free(t);
		if (got == SCHEDULE_NOT_TRIED)
			return -1;
		if (got == SCHEDULE_FITS)
			low = mid;
		else
			high = mid - 1;
	}
	return (int)low;
}

/* With every general counter that is free in use, an event can only be on its fixed one. */
static void find_fixed(struct trial *t, unsigned general)
{
	for (unsigned f = 0; f < t->l->fixed && f < 32; f++) {
		enum schedule_tried got;

		if (t->fixed_event[f] == MODEL_NONE)
			continue;
		t->n = 0;
		add_free_event(t, t->general, general);
		add_free_event(t, t->fixed_event[f], 1);
		got = ask_if_free(t);
		if (got == SCHEDULE_FITS)
			t->l->fixed_taken &= ~(1U << f);
		else if (got == SCHEDULE_NO_ROOM)
			t->l->fixed_taken |= 1U << f;
	}
}

struct mask {
	uint32_t counters;
	unsigned free;
	bool exact; /* no more than these are free; else so many at least */
};

/* Different sets of counters that events here are restricted to, and how many of each are free. */
static size_t find_masks(struct trial *t, unsigned general, struct mask *mask)
{
	size_t n = 0;

	for (uint32_t i = 0; i < t->m->n_used && n < MASKS_MAX; i++) {
		uint32_t counters = counters_of(t, i);
		unsigned most = (unsigned)__builtin_popcount(counters);
		bool seen = !counters || counters == t->all || t->m->event[i].fixed;
		int got;

		for (size_t k = 0; k < n; k++)
			seen |= mask[k].counters == counters;
		if (seen || !is_plain(&t->m->event[i]))
			continue;
		most = most < general ? most : general;
		got = most_copies(t, i, most);
		if (got < 0)
			continue;
		mask[n++] = (struct mask){ counters, (unsigned)got, (unsigned)got < most };
	}
	return n;
}

/* The set of held counters that explains the trials best (of equal ones the first). *moves: more is
 * free than any choice allows, since their holder makes room. */
static uint32_t choose_taken(const struct trial *t, unsigned held, const struct mask *mask,
			     size_t n, bool *moves)
{
	uint32_t best = 0;
	size_t least = SIZE_MAX;

	for (uint32_t v = 1; v <= t->all; v++) {
		size_t wrong = 0, more = 0;

		if (v & ~t->all || (unsigned)__builtin_popcount(v) != held)
			continue;
		for (size_t k = 0; k < n; k++) {
			unsigned left = (unsigned)__builtin_popcount(mask[k].counters & ~v);

			more += left < mask[k].free;
			wrong += left < mask[k].free || (mask[k].exact && left > mask[k].free);
		}
		if (wrong >= least)
			continue;
		least = wrong;
		best = v;
		*moves = more;
	}
	return best;
}

static void hold_general(struct trial *t, unsigned general)
{
	unsigned all = (unsigned)__builtin_popcount(t->all), held = all - general;
	struct schedule_limits *l = t->l;
	struct mask mask[MASKS_MAX];
	bool moves = false;
	uint32_t taken;

	l->general_held = held;
	l->reserved = 0;
	if (!held)
		return;
	if (!general) { /* others may come to an end: a plan for one that is free can use it then */
		l->reserved = all - 1;
		return;
	}
	taken = choose_taken(t, held, mask, find_masks(t, general, mask), &moves);
	if (!moves || l->n_held + held > SCHEDULE_HELD)
		l->taken |= taken;
	else
		while (held--)
			l->held[l->n_held++] = t->all;
}

void schedule_limits_try(struct schedule_limits *l, const struct model *m,
			 const struct schedule_try *how)
{
	struct trial t = { .m = m, .l = l, .how = how };
	enum schedule_tried got;
	unsigned most;
	int general;

	if (!l->counters || l->counters > COUNTERS_MAX)
		return;
	t.all = (uint32_t)schedule_limits_avail(l);
	if (!find_free_events(&t))
		return;
	most = (unsigned)__builtin_popcount(t.all);
	add_free_event(&t, t.general, most);
	for (unsigned f = 0; f < l->fixed && f < 32; f++)
		if (t.fixed_event[f] != MODEL_NONE)
			add_free_event(&t, t.fixed_event[f], 1);
	got = ask_if_free(&t);
	if (got == SCHEDULE_NOT_TRIED)
		return;
	l->tried = true;
	if (got == SCHEDULE_FITS) {
		l->reserved = 0;
		l->fixed_taken = 0;
		return;
	}
	general = most_copies(&t, t.general, most);
	if (general < 0)
		return;
	find_fixed(&t, (unsigned)general);
	hold_general(&t, (unsigned)general);
}
