/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_needs - which events each metric of a model needs, itself and through others.
 *
 * Metrics stand in an order in which each refers only to those before it, so one pass is enough.
 */
#include <string.h>

#include "model/plan/plan_int.h"

#define DEAR 2 /* general counters */
#define MANY 4 /* formulas */

struct asking {
	struct planning *k;
	uint64_t *events, *metrics, *latency;
};

static int ask(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct asking *x = ctx;

	if (kind == EXPR_EVENT && index < x->k->m->n_used)
		bit_set(x->events, index);
	else if (kind == EXPR_METRIC && index < x->k->m->n_metrics)
		bit_set(x->metrics, index);
	else if (kind == EXPR_LATENCY && index < x->k->m->n_used)
		bit_set(x->latency, index);
	return 0;
}

static void merge_needs(uint64_t *to, const uint64_t *from, size_t words)
{
	for (size_t w = 0; w < words; w++)
		to[w] |= from[w];
}

static int needs_alloc(struct planning *k, struct metric_needs *x, struct err *err)
{
	size_t words = 5 * k->words + 4 * k->metric_words;
	uint64_t *b = arena_alloc(&k->scratch, words * sizeof(*b));

	if (!b)
		return err_nomem(err);
	x->own = b;
	x->full = b + k->words;
	x->tight = b + 2 * k->words;
	x->threshold = b + 3 * k->words;
	x->latency = b + 4 * k->words;
	x->refs = b + 5 * k->words;
	x->nodes = x->refs + k->metric_words;
	x->aux = x->nodes + k->metric_words;
	x->threshold_metrics = x->aux + k->metric_words;
	return 0;
}

/* Needs of the formula and the threshold themselves. */
static int own_needs(struct planning *k, uint32_t metric, struct err *err)
{
	const struct model_metric *m = &k->m->metric[metric];
	struct metric_needs *x = &k->needs[metric];
	struct asking own = { k, x->own, x->refs, x->latency };
	struct asking threshold = { k, x->threshold, x->threshold_metrics, x->latency };

	if (m->expr && expr_needs(m->expr, k->w->system, ask, &own))
		return err_nomem(err);
	if (k->w->thresholds && m->threshold &&
	    expr_needs(m->threshold, k->w->system, ask, &threshold))
		return err_nomem(err);
	x->has_threshold = bits_count(x->threshold, k->words) > 0;
	return 0;
}

/* Needs of the metrics that it refers to; events of common values are not its own. */
static void derived_needs(struct planning *k, uint32_t metric)
{
	struct metric_needs *x = &k->needs[metric];
	size_t end = metric;

	memcpy(x->full, x->own, k->words * sizeof(uint64_t));
	memcpy(x->tight, x->own, k->words * sizeof(uint64_t));
	for (size_t i = bit_next(x->refs, 0, end); i < end; i = bit_next(x->refs, i + 1, end)) {
		const struct metric_needs *r = &k->needs[i];

		merge_needs(x->latency, r->latency, k->words);
		merge_needs(x->aux, r->aux, k->metric_words);
		if (!k->m->metric[i].level) {
			bit_set(x->aux, i);
			merge_needs(x->nodes, r->nodes, k->metric_words);
		}
		if (bit_test(k->common, i))
			continue;
		merge_needs(x->full, r->full, k->words);
		if (k->m->metric[i].level)
			bit_set(x->nodes, i);
		else
			merge_needs(x->tight, r->tight, k->words);
	}
}

/* Whether one group can hold these; events that no counter here can count are ignored. */
static bool fits_one_group(struct planning *k, const uint64_t *bits)
{
	const char *why;
	size_t n = 0, end = k->m->n_used;
	bool slots = false, has_field = false;

	for (size_t i = bit_next(bits, 0, end); i < end; i = bit_next(bits, i + 1, end)) {
		unsigned flags = k->m->event[i].flags;

		if (flags & (EVENT_SOFTWARE | EVENT_UNCORE))
			continue;
		slots |= !!(flags & EVENT_SLOTS);
		has_field |= !!(flags & EVENT_METRIC);
		if (bit_test(k->event.fits, i))
			k->event.list[n++] = (uint32_t)i;
	}
	if (has_field && !slots && k->event.leader != MODEL_NONE)
		k->event.list[n++] = k->event.leader;
	return schedule_fits(k->m, &k->l, k->event.list, n, &why);
}

bool plan_fits(struct planning *k, uint32_t metric)
{
	struct metric_needs *x = &k->needs[metric];

	if (!x->fits_asked)
		x->fits = fits_one_group(k, x->full);
	x->fits_asked = true;
	return x->fits;
}

bool plan_fits_tight(struct planning *k, uint32_t metric)
{
	return fits_one_group(k, k->needs[metric].tight);
}

int plan_needs(struct planning *k, struct err *err)
{
	k->words = k->m->n_used / 64 + 1;
	k->metric_words = k->m->n_metrics / 64 + 1;
	k->common = arena_alloc(&k->scratch, k->metric_words * sizeof(*k->common));
	k->needs = arena_alloc(&k->scratch, (k->m->n_metrics + 1) * sizeof(*k->needs));
	if (!k->common || !k->needs)
		return err_nomem(err);
	for (uint32_t i = 0; i < k->m->n_metrics; i++) {
		if (needs_alloc(k, &k->needs[i], err) || own_needs(k, i, err))
			return -1;
		derived_needs(k, i);
	}
	return 0;
}

/* General counters that a metric takes, about. */
static size_t general_events(const struct planning *k, const uint64_t *bits)
{
	size_t n = 0, end = k->m->n_used;

	for (size_t i = bit_next(bits, 0, end); i < end; i = bit_next(bits, i + 1, end)) {
		const struct model_event *e = &k->m->event[i];

		n += !e->fixed && !(e->flags & (EVENT_METRIC | EVENT_SOFTWARE | EVENT_UNCORE));
	}
	return n;
}

static size_t users(const struct planning *k, uint32_t metric)
{
	size_t n = 0;

	for (size_t i = 0; i < k->m->n_metrics; i++)
		n += k->wanted[i] && bit_test(k->needs[i].aux, metric);
	return n;
}

static bool refers_to_common(const struct planning *k, const struct metric_needs *x)
{
	for (size_t w = 0; w < k->metric_words; w++)
		if (x->aux[w] & k->common[w])
			return true;
	return false;
}

/* A value of two general counters or more that many formulas divide by (the clocks of a core that
 * two threads share): each group that had it would have few counters left for its own events. */
void plan_common(struct planning *k)
{
	for (uint32_t i = 0; i < k->m->n_metrics; i++) {
		const struct metric_needs *x = &k->needs[i];

		if (k->m->metric[i].level || k->wanted[i] || refers_to_common(k, x) ||
		    general_events(k, x->full) < DEAR || users(k, i) < MANY)
			continue;
		k->any_common = true;
		if (k->apart)
			bit_set(k->common, i);
	}
	for (uint32_t i = 0; i < k->m->n_metrics && k->any_common && k->apart; i++)
		derived_needs(k, i);
}

int plan_events(struct planning *k, struct err *err)
{
	const char *why;

	k->event.leader = MODEL_NONE;
	k->event.fits = arena_alloc(&k->scratch, k->words * sizeof(*k->event.fits));
	k->event.list = arena_alloc(&k->scratch, (k->m->n_events + 2) * sizeof(*k->event.list));
	if (!k->event.fits || !k->event.list)
		return err_nomem(err);
	for (uint32_t e = 0; e < k->m->n_used; e++) {
		unsigned flags = k->m->event[e].flags;

		if (flags & EVENT_SLOTS && k->event.leader == MODEL_NONE)
			k->event.leader = e;
		if (!(flags & (EVENT_SOFTWARE | EVENT_UNCORE)) &&
		    (flags & EVENT_METRIC || schedule_fits(k->m, &k->l, &e, 1, &why)))
			bit_set(k->event.fits, e);
	}
	return 0;
}
