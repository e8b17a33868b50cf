/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_print - one group by itself: does it fit, on which counters, in words.
 */
#include <string.h>

#include "model/schedule_int.h"

/* A problem of these events alone; `local` has their bits. */
static int one_group(struct sched *s, uint64_t **bits, const uint32_t *event, size_t n, bool *none)
{
	*none = false;
	s->ev = arena_alloc(s->scratch, (n + 1) * sizeof(*s->ev));
	if (!s->ev || sched_counters(s, NULL))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (event[i] >= s->m->n_events)
			return -1;
		*none |= !sched_event_of(s, event[i], &s->ev[i]);
	}
	s->n_ev = n;
	s->words = n / 64 + 1;
	*bits = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	if (!*bits)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!(s->m->event[event[i]].flags & (EVENT_SOFTWARE | EVENT_UNCORE)))
			bit_set(*bits, i);
	return 0;
}

bool schedule_fits(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		   size_t n, const char **why)
{
	struct arena scratch = ARENA_INIT;
	struct sched s = { .m = m, .l = l, .scratch = &scratch };
	uint64_t *bits;
	bool none;

	if (one_group(&s, &bits, event, n, &none))
		*why = "no such events, or no memory";
	else
		*why = sched_broken(&s, bits);
	arena_free(&scratch);
	return !*why;
}

bool schedule_place(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		    size_t n, uint8_t *counter)
{
	struct arena scratch = ARENA_INIT;
	struct sched s = { .m = m, .l = l, .scratch = &scratch };
	uint64_t *bits;
	bool none, ok;

	memset(counter, SCHEDULE_NO_COUNTER, n);
	ok = !one_group(&s, &bits, event, n, &none) && sched_assign(&s, bits, counter);
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

void schedule_print(struct buf *out, const struct model *m, const struct schedule_limits *l,
		    const struct schedule *s)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		buf_printf(out, "%zu\t", g);
		schedule_print_group(out, m, l, s->group[g].event, s->group[g].n);
		buf_putc(out, '\n');
	}
	for (size_t i = 0; i < s->n_impossible; i++)
		buf_printf(out, "impossible\t%s\n", m->event[s->impossible[i]].name);
	for (size_t i = 0; i < s->n_split; i++)
		buf_printf(out, "split\t%u\n", s->split[i]);
}
