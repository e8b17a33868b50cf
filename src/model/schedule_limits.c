/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "model/schedule.h"

/* What the watchdog counts, by the names that models have for it. */
static const char *const cycles[] = { "CPU_CLK_UNHALTED.THREAD", "CPU_CLK_UNHALTED.CORE",
				      "CPU_CYCLES", "cpu-cycles", "cycles" };

uint32_t schedule_cycles(const struct model *m)
{
	for (size_t i = 0; i < sizeof(cycles) / sizeof(*cycles); i++) {
		uint32_t e = model_event_find(m, cycles[i], strlen(cycles[i]));

		if (e != MODEL_NONE)
			return e;
	}
	return MODEL_NONE;
}

static uint32_t fixed_of_cycles(const struct model *m)
{
	uint32_t e = schedule_cycles(m);

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
	fixed = fixed_of_cycles(m);
	fixed &= l->fixed < 32 ? (1U << l->fixed) - 1 : UINT32_MAX;
	if (fixed)
		l->fixed_taken = fixed;
	else
		l->reserved = 1;
}
