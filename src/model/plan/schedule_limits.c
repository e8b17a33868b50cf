/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "model/event_same.h"
#include "model/schedule.h"

static uint32_t fixed_of_cycles(const struct model *m)
{
	uint32_t e = event_cycles(m);

	return e == MODEL_NONE ? 0 : m->event[e].fixed;
}

static unsigned least(unsigned model, unsigned machine)
{
	return machine && machine < model ? machine : model;
}

void schedule_limits_of(struct schedule_limits *l, const struct model *m,
			const struct schedule_machine *at)
{
	uint32_t fixed;

	memset(l, 0, sizeof(*l));
	l->smt = at->smt;
	l->counters = least(at->smt ? m->counters : m->counters_alone, at->general);
	l->fixed = least(m->fixed, at->fixed);
	l->offcore = 2;
	if (at->no_tsx_abort)
		l->taken = 1U << 3;
	if (!at->watchdog)
		return;
	fixed = fixed_of_cycles(m) & schedule_limits_fixed(l);
	if (fixed)
		l->fixed_taken = fixed;
	else
		l->reserved = 1;
}

uint64_t schedule_limits_avail(const struct schedule_limits *l)
{
	uint64_t general = l->counters < 32 ? (1ULL << l->counters) - 1 : UINT32_MAX;
	uint64_t fixed = l->fixed < 32 ? (1ULL << l->fixed) - 1 : UINT32_MAX;

	return (general & ~(uint64_t)l->taken) | (fixed & ~(uint64_t)l->fixed_taken) << 32;
}

uint32_t schedule_limits_fixed(const struct schedule_limits *l)
{
	return (uint32_t)(schedule_limits_avail(l) >> 32);
}

bool schedule_limits_no_slots(const struct schedule_limits *l, const struct model *m)
{
	for (size_t i = 0; l->tried && i < m->n_events; i++)
		if (m->event[i].flags & EVENT_SLOTS)
			return !(m->event[i].fixed & schedule_limits_fixed(l));
	return false;
}

void schedule_limits_event(struct schedule_limits *l)
{
	l->reserved++;
}

/* The counters that sampled cycles can be on; if more is possible than is known, less. */
static uint64_t counters_of_cycles(const struct model *m, unsigned precise)
{
	bool large = m->counters != m->counters_alone; /* threads share a core: no small one */

	if (!precise || (m->metrics_register && (precise < 3 || m->fixed_level < 2)))
		return UINT32_MAX | (uint64_t)fixed_of_cycles(m) << 32;
	/* before Ice Lake PEBS has four counters; its most precise cycles are another event, with a
	 * counter of its own; that of cores after Ice Lake, and PEBS of the first small ones, is
	 * counter 0 */
	if (!large || m->metrics_register)
		return 1;
	return precise < 3 ? 0xf : 2;
}

void schedule_limits_cycles(struct schedule_limits *l, const struct model *m, unsigned precise)
{
	if (l->n_held < SCHEDULE_HELD)
		l->held[l->n_held++] = counters_of_cycles(m, precise);
	else
		schedule_limits_event(l);
}
