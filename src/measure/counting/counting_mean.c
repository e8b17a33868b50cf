/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A count's meaning beside the others: cycles over time are a frequency, instructions over cycles
 * the IPC. Only counts of the same privilege levels are brought together.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "measure/counting_events.h"

/* Counters of one group do not start in the same cycle. */
#define SLACK 0.005

#define HW(x) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##x
#define SW(x) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##x
#define CACHE(cache, result)                                                                 \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
				    PERF_COUNT_HW_CACHE_RESULT_##result << 16

struct kind {
	uint32_t type;
	uint64_t config;
};

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
	{ { CACHE(L1D, MISS) }, { CACHE(L1D, ACCESS) }, true, "of L1d loads" },
	{ { CACHE(L1I, MISS) }, { CACHE(L1I, ACCESS) }, true, "of L1i loads" },
	{ { CACHE(LL, MISS) }, { CACHE(LL, ACCESS) }, true, "of LLC loads" },
	{ { CACHE(DTLB, MISS) }, { CACHE(DTLB, ACCESS) }, true, "of dTLB loads" },
	{ { CACHE(ITLB, MISS) }, { CACHE(ITLB, ACCESS) }, true, "of iTLB loads" },
};

struct place { /* its rows */
	const struct counts_row *row;
	const struct counts_kind *kind;
	size_t n;
	struct arena *a;
	double seconds;
};

static bool is_kind(const struct counts_kind *x, struct kind k)
{
	/* the upper half names the PMU on a hybrid */
	return x->type == k.type && (uint32_t)x->config == k.config;
}

static bool same_levels(const struct counts_kind *a, const struct counts_kind *b)
{
	return a->levels == b->levels && a->config >> 32 == b->config >> 32;
}

/* The value of another event on the same place; NAN if it was not counted. */
static double other(const struct place *p, size_t event, struct kind k)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_kind(&p->kind[i], k) &&
		    (k.type == PERF_TYPE_SOFTWARE || same_levels(&p->kind[i], &p->kind[event])))
			return p->row[i].value;
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
static bool ratio_of(const struct place *p, size_t e, struct counts_row *out)
{
	double v = p->row[e].value;

	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		const struct ratio *r = &ratios[i];
		double whole = is_kind(&p->kind[e], r->part) ? other(p, e, r->whole) : NAN;

		if (!(whole > 0))
			continue;
		if (r->percent && v > whole * (1 + SLACK)) {
			out->note = arena_printf(p->a, "? %s: more than there are", r->text);
			return true;
		}
		out->derived = r->percent ? fmin(100, 100 * v / whole) : v / whole;
		out->derived_unit = r->percent ? arena_printf(p->a, "%% %s", r->text) : r->text;
		out->note = arena_printf(p->a, "%.2f %s", out->derived,
					 out->derived_unit ? out->derived_unit : "");
		return true;
	}
	return false;
}

static void mean_of(const struct place *p, size_t e, struct counts_row *out)
{
	const struct kind task = { SW(TASK_CLOCK) }, cpu = { SW(CPU_CLOCK) };
	const struct kind cycles = { HW(CPU_CYCLES) };
	const struct counts_kind *kind = &p->kind[e];
	double v = p->row[e].value, time = other(p, e, task);
	char n[NUM_MAX];

	if (isnan(v) || kind->type == COUNTS_KIND_NONE)
		return;
	if (is_kind(kind, task) || is_kind(kind, cpu)) {
		if (!(p->seconds > 0))
			return;
		out->derived = v / 1e9 / p->seconds;
		out->derived_unit = "CPUs";
		(void)num_fixed(n, out->derived, 3);
		out->note = with_unit(p->a, n, " CPUs");
		return;
	}
	if (ratio_of(p, e, out) || isnan(time) || time <= 0 || *p->row[e].unit)
		return;
	if (is_kind(kind, cycles)) {
		out->derived = v / time;
		out->derived_unit = "GHz";
		out->note = arena_printf(p->a, "%.3f GHz", out->derived);
		return;
	}
	out->derived = v / time * 1e9;
	out->derived_unit = "/s";
	(void)num_count(n, out->derived);
	out->note = with_unit(p->a, n, "/s");
}

void counts_rows_mean(struct counts_row *row, const struct counts_kind *kind, size_t n,
		      struct arena *a, double seconds)
{
	const struct place p = { row, kind, n, a, seconds };

	for (size_t e = 0; e < n; e++)
		if (!row[e].note)
			mean_of(&p, e, &row[e]);
}

void counting_events_mean(const struct counting_events *s, struct arena *a, struct counts_row *row,
			  double seconds)
{
	struct counts_kind *kind = arena_alloc(a, (s->n_shown + 1) * sizeof(*kind));

	for (size_t e = 0; kind && e < s->n_shown; e++) {
		const struct event *ev = &s->list.ev.v[s->shown[e]];

		kind[e] = (struct counts_kind){
			/* an event of the tool itself has a rate, but is no part of anything */
			.type = ev->tool ? PERF_TYPE_MAX : ev->attr.type,
			.config = ev->attr.config,
			.levels = (ev->attr.exclude_user ? 1u : 0u) |
				  (ev->attr.exclude_kernel ? 2u : 0u),
		};
	}
	for (size_t p = 0; kind && p < s->n_places; p++)
		counts_rows_mean(&row[p * s->n_shown], kind, s->n_shown, a, seconds);
}
