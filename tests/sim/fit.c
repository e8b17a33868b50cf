/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fit - is there a counter for each of these events? Augmenting paths over bit masks: general
 * counters are bits 0 to 31, fixed ones 32 to 63. Registers that go with events (offcore response,
 * front end, load latency) hold one value each; events that want the same value share one.
 */
#include "context.h"

#include <string.h>

#define SLOTS_MAX 64

struct match {
	const uint64_t *can;  /* by event */
	int owner[SLOTS_MAX]; /* by counter: event or -1 */
};

static bool place(struct match *m, int event, uint64_t *seen)
{
	for (int c = 0; c < SLOTS_MAX; c++) {
		uint64_t bit = UINT64_C(1) << c;

		if (!(m->can[event] & bit) || *seen & bit)
			continue;
		*seen |= bit;
		if (m->owner[c] < 0 || place(m, m->owner[c], seen)) {
			m->owner[c] = event;
			return true;
		}
	}
	return false;
}

/* The different values that events with this flag want. */
static unsigned values_wanted(const struct sim_event *const *event, size_t n, unsigned flag)
{
	unsigned count = 0;

	for (size_t i = 0; i < n; i++) {
		bool first = true;

		if (!(event[i]->flags & flag))
			continue;
		for (size_t j = 0; j < i; j++)
			if (event[j]->flags & flag && event[j]->config1 == event[i]->config1)
				first = false;
		count += first;
	}
	return count;
}

/* Each field of PERF_METRICS is there once: METRIC_EVENT_CONSTRAINT(). */
static bool field_twice(const struct sim_event *const *event, size_t n)
{
	unsigned seen = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned bit = event[i]->flags & SIM_METRIC ? 1u << event[i]->field : 0;

		if (seen & bit)
			return true;
		seen |= bit;
	}
	return false;
}

static uint64_t counters_of(const struct sim_pmu *pmu, const struct sim_event *e, uint64_t held)
{
	return ((e->gp & pmu->gp) | (uint64_t)(e->fixed & pmu->fixed) << 32) & ~held;
}

bool sim_fit(const struct sim_pmu *pmu, const struct sim_event *const *event, size_t n,
	     bool watchdog, uint64_t held)
{
	uint64_t can[SLOTS_MAX + 1];
	struct match m = { .can = can };
	size_t needing = 0;

	if (values_wanted(event, n, SIM_OFFCORE) > pmu->offcore ||
	    values_wanted(event, n, SIM_FRONTEND) > 1 || values_wanted(event, n, SIM_LDLAT) > 1 ||
	    field_twice(event, n))
		return false;
	/* the watchdog counts cycles, and came first */
	if (watchdog && pmu->watchdog)
		can[needing++] =
			((pmu->fixed ? (uint64_t)(pmu->fixed & 2) << 32 : 0) | pmu->gp) & ~held;
	for (size_t i = 0; i < n; i++) {
		if (event[i]->flags & (SIM_FREE | SIM_METRIC))
			continue;
		for (int pair = event[i]->flags & SIM_PAIR ? 2 : 1; pair; pair--) {
			if (needing == SLOTS_MAX)
				return false;
			can[needing++] = counters_of(pmu, event[i], held);
		}
	}
	memset(m.owner, -1, sizeof(m.owner));
	for (size_t i = 0; i < needing; i++) {
		uint64_t seen = 0;

		if (!place(&m, (int)i, &seen))
			return false;
	}
	return true;
}
