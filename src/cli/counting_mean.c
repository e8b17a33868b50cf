/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a count means beside the others: cycles over time are a frequency, instructions over cycles
 * the IPC. Only counts of the same privilege levels are brought together.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "cli/counting_events.h"

/* Counters of one group do not start in the same cycle. */
#define SLACK 0.005

struct kind {
	uint32_t type;
	uint64_t config;
};

#define HW(x) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##x
#define SW(x) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##x

/* part / whole, as a percentage or a plain ratio */
static const struct ratio {
	struct kind part, whole;
	bool percent;
	const char *text;
} ratios[] = {
	{ { HW(INSTRUCTIONS) }, { HW(CPU_CYCLES) }, false, "per cycle" },
	{ { HW(BRANCH_MISSES) }, { HW(BRANCH_INSTRUCTIONS) }, true, "of branches" },
	{ { HW(CACHE_MISSES) }, { HW(CACHE_REFERENCES) }, true, "of references" },
	{ { HW(STALLED_CYCLES_FRONTEND) }, { HW(CPU_CYCLES) }, true, "of cycles" },
	{ { HW(STALLED_CYCLES_BACKEND) }, { HW(CPU_CYCLES) }, true, "of cycles" },
};

static bool is_kind(const struct event *ev, struct kind k)
{
	/* the upper half names the PMU on a hybrid */
	return ev->attr.type == k.type && (uint32_t)ev->attr.config == k.config && !ev->tool;
}

static bool same_levels(const struct event *a, const struct event *b)
{
	return a->attr.exclude_user == b->attr.exclude_user &&
	       a->attr.exclude_kernel == b->attr.exclude_kernel &&
	       a->attr.config >> 32 == b->attr.config >> 32;
}

/* The value of another event on the same place; NAN where it was not counted. */
static double other(const struct counting_events *s, const struct counts_row *place, size_t event,
		    struct kind k)
{
	for (size_t i = 0; i < s->n_shown; i++) {
		const struct event *ev = &s->list.ev.v[s->shown[i]];

		if (is_kind(ev, k) && (k.type == PERF_TYPE_SOFTWARE ||
				       same_levels(ev, &s->list.ev.v[s->shown[event]])))
			return place[i].value;
	}
	return NAN;
}

static const char *with_unit(struct arena *a, const char *n, size_t len, const char *unit)
{
	char *s = arena_alloc(a, len + strlen(unit) + 1);

	if (s) {
		memcpy(s, n, len);
		memcpy(s + len, unit, strlen(unit));
	}
	return s;
}

static const char *mean_of(const struct counting_events *s, struct arena *a,
			   const struct counts_row *place, size_t e, double seconds)
{
	const struct kind task = { SW(TASK_CLOCK) }, cpu = { SW(CPU_CLOCK) };
	const struct kind cycles = { HW(CPU_CYCLES) };
	const struct event *ev = &s->list.ev.v[s->shown[e]];
	double v = place[e].value, time = other(s, place, e, task);
	char n[NUM_MAX];

	if (isnan(v))
		return NULL;
	if (is_kind(ev, task) || is_kind(ev, cpu))
		return seconds > 0 ? with_unit(a, n, num_fixed(n, v / 1e9 / seconds, 3), " CPUs")
				   : NULL;
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		double whole =
			is_kind(ev, ratios[i].part) ? other(s, place, e, ratios[i].whole) : NAN;

		if (!(whole > 0))
			continue;
		if (!ratios[i].percent)
			return arena_printf(a, "%.2f %s", v / whole, ratios[i].text);
		if (v > whole * (1 + SLACK))
			return arena_printf(a, "? %s: more than there are", ratios[i].text);
		return arena_printf(a, "%.2f %% %s", fmin(100, 100 * v / whole), ratios[i].text);
	}
	if (isnan(time) || time <= 0 || *place[e].unit)
		return NULL;
	if (is_kind(ev, cycles))
		return arena_printf(a, "%.3f GHz", v / time);
	(void)num_count(n, v / time * 1e9);
	return with_unit(a, n, strlen(n), "/s");
}

void counting_events_mean(const struct counting_events *s, struct arena *a, struct counts_row *row,
			  double seconds)
{
	for (size_t p = 0; p < s->n_places; p++)
		for (size_t e = 0; e < s->n_shown; e++) {
			struct counts_row *place = &row[p * s->n_shown];

			if (!place[e].note)
				place[e].note = mean_of(s, a, place, e, seconds);
		}
}
