/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/jitter.h"

#include <stddef.h>

#include "base/hash.h"

static bool has_small_factor(uint64_t n)
{
	static const uint8_t primes[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47 };

	for (size_t i = 0; i < sizeof(primes); i++)
		if (n % primes[i] == 0 && n != primes[i])
			return true;
	return false;
}

uint64_t jitter_period(uint64_t nominal, double part, uint64_t *state)
{
	uint64_t room = (uint64_t)((double)nominal * part), least = nominal - room;

	if (nominal < JITTER_LEAST || !room)
		return nominal;
	/* one in seven is free of small factors: 200 draws find one, or there is none */
	for (unsigned tries = 0; tries < 200; tries++) {
		uint64_t n = least + random_next(state) % (2 * room + 1);

		if (!has_small_factor(n))
			return n;
	}
	return nominal;
}

static bool is_cpu_clock(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool jitter_can(const struct perf_event_attr *attr)
{
	return !attr->freq && attr->sample_period >= JITTER_LEAST &&
	       (is_cpu_clock(attr) || jitter_can_change(attr));
}

bool jitter_can_change(const struct perf_event_attr *attr)
{
	return !attr->freq && attr->sample_period >= JITTER_LEAST &&
	       attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT;
}
