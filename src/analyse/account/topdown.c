/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/topdown.h"

#include <math.h>

#include "base/estimate.h"

/* Pseudo-encodings of the kernel (arch/x86/events/intel/core.c): event 0, umask 4 is slots, umasks
 * 0x80 to 0x87 are the fields. */
#define SLOTS_CONFIG 0x0400u
#define FIELD_CONFIG 0x8000u

#define HALF_STEP (0.5 / 255)

const char *const topdown_names[TOPDOWN_PARTS] = {
	"retiring",	    "bad_speculation",	  "frontend_bound",  "backend_bound",
	"heavy_operations", "branch_mispredicts", "fetch_latency",   "memory_bound",
	"light_operations", "machine_clears",	  "fetch_bandwidth", "core_bound",
};

/* Level 2: its parent, and the sibling that was counted if it was not. */
static const enum topdown_part parent_of[TOPDOWN_PARTS] = {
	[TOPDOWN_HEAVY_OPERATIONS] = TOPDOWN_RETIRING,
	[TOPDOWN_BRANCH_MISPREDICTS] = TOPDOWN_BAD_SPECULATION,
	[TOPDOWN_FETCH_LATENCY] = TOPDOWN_FRONTEND_BOUND,
	[TOPDOWN_MEMORY_BOUND] = TOPDOWN_BACKEND_BOUND,
	[TOPDOWN_LIGHT_OPERATIONS] = TOPDOWN_RETIRING,
	[TOPDOWN_MACHINE_CLEARS] = TOPDOWN_BAD_SPECULATION,
	[TOPDOWN_FETCH_BANDWIDTH] = TOPDOWN_FRONTEND_BOUND,
	[TOPDOWN_CORE_BOUND] = TOPDOWN_BACKEND_BOUND,
};

void topdown_find(struct topdown *t, const struct pd_event *event, size_t n)
{
	bool all = true;

	t->slots = -1;
	t->levels = 0;
	for (unsigned f = 0; f < TOPDOWN_FIELDS; f++)
		t->field[f] = -1;
	for (size_t e = 0; e < n; e++) {
		const struct perf_event_attr *a = &event[e].attr;
		uint64_t c = a->config;

		if (a->type != PERF_TYPE_RAW || !(a->sample_type & PERF_SAMPLE_READ))
			continue;
		if (c == SLOTS_CONFIG && t->slots < 0)
			t->slots = (int)e;
		else if (c >= FIELD_CONFIG && c < FIELD_CONFIG + (TOPDOWN_FIELDS << 8) &&
			 !(c & 0xff) && t->field[(c - FIELD_CONFIG) >> 8] < 0)
			t->field[(c - FIELD_CONFIG) >> 8] = (int)e;
	}
	if (t->slots < 0)
		return;
	for (unsigned f = 0; f < TOPDOWN_FIELDS; f++) {
		if (t->field[f] >= 0 && !t->levels)
			t->levels = 1;
		all &= t->field[f] >= 0;
	}
	if (all)
		t->levels = 2;
}

bool topdown_is_part(const struct topdown *t, size_t event)
{
	bool part = t->levels && t->slots == (int)event;

	for (unsigned f = 0; t->levels && f < TOPDOWN_FIELDS; f++)
		part |= t->field[f] == (int)event;
	return part;
}

/* Returns the divisor of a field's sum. */
static double topdown_whole(const struct topdown *t, const struct profile_row *w)
{
	double sum = 0;

	for (unsigned f = TOPDOWN_RETIRING; f <= TOPDOWN_BACKEND_BOUND; f++) {
		if (t->field[f] < 0)
			return (double)profile_tally(w, (size_t)t->slots)->period;
		sum += (double)profile_tally(w, (size_t)t->field[f])->period;
	}
	return sum;
}

static struct topdown_value topdown_counted(const struct topdown *t, const struct profile_row *w,
					    unsigned f)
{
	struct topdown_value v = { NAN, NAN };
	const struct tally *s, *m;
	double all, var;

	if (t->field[f] < 0)
		return v;
	s = profile_tally(w, (size_t)t->slots);
	m = profile_tally(w, (size_t)t->field[f]);
	all = topdown_whole(t, w);
	if (all <= 0)
		return v;
	v.share = (double)m->period / all;
	if (s->period && !(s->period_sq > 0)) { /* a model's sums are exact */
		v.half = 0;
		return v;
	}
	if (s->samples < 2)
		return v;
	var = ((1 - 2 * v.share) * m->period_sq + v.share * v.share * s->period_sq) / (all * all);
	v.half = Z95 * sqrt(var > 0 ? var : 0) + HALF_STEP;
	return v;
}

static double slack(struct topdown_value v)
{
	return isnan(v.half) ? HALF_STEP : v.half;
}

static struct topdown_value contradiction(void)
{
	return (struct topdown_value){ NAN, NAN };
}

static struct topdown_value clamped(struct topdown_value v)
{
	v.share = v.share < 0 ? 0 : v.share > 1 ? 1 : v.share;
	return v;
}

/* Returns the share of a field in its whole. */
static struct topdown_value field_share(const struct topdown *t, const struct profile_row *w,
					enum topdown_part part)
{
	struct topdown_value v = topdown_counted(t, w, part), whole_of = { 1, 0 };

	if (part >= TOPDOWN_HEAVY_OPERATIONS && t->field[parent_of[part]] >= 0)
		whole_of = topdown_counted(t, w, parent_of[part]);
	return v.share > whole_of.share + slack(v) + slack(whole_of) ? contradiction() : v;
}

struct topdown_value topdown_share(const struct topdown *t, const struct profile_row *row,
				   enum topdown_part part)
{
	struct topdown_value v, sibling;

	if (!t->levels)
		return contradiction();
	if (part < TOPDOWN_FIELDS)
		return clamped(field_share(t, row, part));
	v = topdown_counted(t, row, parent_of[part]);
	sibling = field_share(t, row,
			      part - TOPDOWN_LIGHT_OPERATIONS + (unsigned)TOPDOWN_HEAVY_OPERATIONS);
	v.share -= sibling.share;
	v.half = sqrt(v.half * v.half + sibling.half * sibling.half);
	return clamped(v);
}

bool topdown_contradicts(const struct topdown *t, const struct profile_row *row)
{
	for (unsigned p = 0; p < TOPDOWN_FIELDS; p++)
		if (t->field[p] >= 0 && !isnan(topdown_counted(t, row, p).share) &&
		    isnan(field_share(t, row, (enum topdown_part)p).share))
			return true;
	return false;
}

enum topdown_part topdown_mostly(const struct topdown *t, const struct profile_row *row,
				 struct topdown_value *value)
{
	enum topdown_part best = TOPDOWN_PARTS;
	unsigned from = t->levels == 2 ? TOPDOWN_HEAVY_OPERATIONS : TOPDOWN_RETIRING;
	unsigned to = t->levels == 2 ? TOPDOWN_CORE_BOUND : TOPDOWN_BACKEND_BOUND;

	*value = contradiction();
	for (unsigned p = from; p <= to; p++) {
		struct topdown_value v = topdown_share(t, row, (enum topdown_part)p);

		if (!isnan(v.share) && (best == TOPDOWN_PARTS || v.share > value->share)) {
			best = (enum topdown_part)p;
			*value = v;
		}
	}
	return best;
}
