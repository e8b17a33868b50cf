/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a count means beside the others: cycles over time are a frequency, instructions over cycles
 * the IPC. Only counts of the same privilege levels are brought together.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "measure/counting_events.h"

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

/* "0.98 CPUs", without printf: it is made for each row of each interval. */
static const char *with_unit(struct arena *a, const char *n, const char *unit)
{
	size_t len = strlen(n), more = strlen(unit);
	char *s = arena_alloc(a, len + more + 1);

	if (s) {
		memcpy(s, n, len);
		memcpy(s + len, unit, more);
	}
	return s;
}

/* part / whole of a row and another of its place; false: it is the part of nothing there. */
static bool ratio_of(const struct counting_events *s, struct arena *a,
		     const struct counts_row *place, size_t e, struct counts_row *out)
{
	const struct event *ev = &s->list.ev.v[s->shown[e]];
	double v = place[e].value;

	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		const struct ratio *r = &ratios[i];
		double whole = is_kind(ev, r->part) ? other(s, place, e, r->whole) : NAN;

		if (!(whole > 0))
			continue;
		if (r->percent && v > whole * (1 + SLACK)) {
			out->note = arena_printf(a, "? %s: more than there are", r->text);
			return true;
		}
		out->derived = r->percent ? fmin(100, 100 * v / whole) : v / whole;
		out->derived_unit = r->percent ? arena_printf(a, "%% %s", r->text) : r->text;
		out->note = arena_printf(a, "%.2f %s", out->derived,
					 out->derived_unit ? out->derived_unit : "");
		return true;
	}
	return false;
}

static void mean_of(const struct counting_events *s, struct arena *a,
		    const struct counts_row *place, size_t e, double seconds,
		    struct counts_row *out)
{
	const struct kind task = { SW(TASK_CLOCK) }, cpu = { SW(CPU_CLOCK) };
	const struct kind cycles = { HW(CPU_CYCLES) };
	const struct event *ev = &s->list.ev.v[s->shown[e]];
	double v = place[e].value, time = other(s, place, e, task);
	char n[NUM_MAX];

	if (isnan(v))
		return;
	if (is_kind(ev, task) || is_kind(ev, cpu)) {
		if (!(seconds > 0))
			return;
		out->derived = v / 1e9 / seconds;
		out->derived_unit = "CPUs";
		(void)num_fixed(n, out->derived, 3);
		out->note = with_unit(a, n, " CPUs");
		return;
	}
	if (ratio_of(s, a, place, e, out) || isnan(time) || time <= 0 || *place[e].unit)
		return;
	if (is_kind(ev, cycles)) {
		out->derived = v / time;
		out->derived_unit = "GHz";
		out->note = arena_printf(a, "%.3f GHz", out->derived);
		return;
	}
	out->derived = v / time * 1e9;
	out->derived_unit = "/s";
	(void)num_count(n, out->derived);
	out->note = with_unit(a, n, "/s");
}

void counting_events_mean(const struct counting_events *s, struct arena *a, struct counts_row *row,
			  double seconds)
{
	for (size_t p = 0; p < s->n_places; p++)
		for (size_t e = 0; e < s->n_shown; e++) {
			struct counts_row *place = &row[p * s->n_shown];

			if (!place[e].note)
				mean_of(s, a, place, e, seconds, &place[e]);
		}
}
