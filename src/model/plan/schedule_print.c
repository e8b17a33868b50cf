/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_print - one group by itself: does it fit, on which counters, in words.
 */
#include <string.h>

#include "model/event_same.h"
#include "model/plan/schedule_int.h"

/* One group as a problem of its own. */
struct lone {
	struct sched s;
	uint64_t *bits; /* its events */
	uint16_t
		*local; /* by place in the list: its number, SCHED_NONE: takes no counter of ours */
};

static bool off_core(const struct model_event *e)
{
	return e->flags & (EVENT_SOFTWARE | EVENT_UNCORE);
}

static uint16_t see_lone(struct lone *k, uint32_t event)
{
	struct sched *s = &k->s;
	struct sched_event *x = &s->ev[s->n_ev];

	if (!sched_event_of(s, event, x))
		x->mask = 0;
	for (size_t i = 0; i < s->n_ev; i++)
		if (s->ev[i].event == event ||
		    (x->encoding && s->ev[i].encoding == x->encoding && s->ev[i].mask & x->mask &&
		     events_same(&s->m->event[s->ev[i].event], &s->m->event[event])))
			return (uint16_t)i;
	return (uint16_t)s->n_ev++;
}

static int one_group(struct lone *k, const uint32_t *event, size_t n)
{
	struct sched *s = &k->s;
	const struct schedule_limits *l = s->l;

	s->ev = arena_alloc(s->scratch, (n + l->n_beside + l->n_held + 1) * sizeof(*s->ev));
	s->words = (n + l->n_beside + l->n_held) / 64 + 1;
	k->bits = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	k->local = arena_alloc(s->scratch, (n + 1) * sizeof(*k->local));
	if (l->n_beside || l->n_held)
		s->beside = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	if (!s->ev || !k->bits || !k->local || ((l->n_beside || l->n_held) && !s->beside) ||
	    sched_counters(s, NULL))
		return -1;
	for (size_t i = 0; i < l->n_beside; i++)
		if (!off_core(&s->m->event[l->beside[i]]))
			bit_set(s->beside, see_lone(k, l->beside[i]));
	sched_held(s);
	for (size_t i = 0; i < n; i++) {
		k->local[i] = SCHED_NONE;
		if (event[i] >= s->m->n_events)
			return -1;
		if (off_core(&s->m->event[event[i]]))
			continue;
		k->local[i] = see_lone(k, event[i]);
		if (s->beside && bit_test(s->beside, k->local[i]))
			k->local[i] = SCHED_NONE;
		else
			bit_set(k->bits, k->local[i]);
	}
	return 0;
}

bool schedule_fits(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		   size_t n, const char **why)
{
	struct arena scratch = ARENA_INIT;
	struct lone k = { .s = { .m = m, .l = l, .scratch = &scratch } };

	if (one_group(&k, event, n))
		*why = "no such events, or no memory";
	else
		*why = sched_broken(&k.s, k.bits);
	arena_free(&scratch);
	return !*why;
}

/* False if they do not fit. counter[] of the local numbers becomes that of the list's. */
static bool place_lone(struct lone *k, size_t n, uint8_t *counter)
{
	uint8_t *of = arena_alloc(k->s.scratch, k->s.n_ev + 1);

	if (!of || !sched_assign(&k->s, k->bits, of))
		return false;
	for (size_t i = 0; i < n; i++)
		if (k->local[i] != SCHED_NONE)
			counter[i] = of[k->local[i]];
	return true;
}

bool schedule_place(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		    size_t n, uint8_t *counter)
{
	struct arena scratch = ARENA_INIT;
	struct lone k = { .s = { .m = m, .l = l, .scratch = &scratch } };
	bool ok;

	memset(counter, SCHEDULE_NO_COUNTER, n);
	ok = !one_group(&k, event, n) && place_lone(&k, n, counter);
	arena_free(&scratch);
	return ok;
}

static void put_counter(struct buf *out, uint8_t counter)
{
	if (counter < SCHEDULE_FIXED)
		buf_printf(out, "@%u", counter);
	else if (counter < SCHEDULE_NO_COUNTER)
		buf_printf(out, "@f%u", counter - SCHEDULE_FIXED);
}

void schedule_print_group(struct buf *out, const struct model *m, const struct schedule_limits *l,
			  const uint32_t *event, size_t n)
{
	uint8_t counter[256];

	if (n > sizeof(counter) || !schedule_place(m, l, event, n, counter))
		memset(counter, SCHEDULE_NO_COUNTER, sizeof(counter));
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s%s", i ? " " : "", m->event[event[i]].name);
		if (i < sizeof(counter))
			put_counter(out, counter[i]);
	}
}
