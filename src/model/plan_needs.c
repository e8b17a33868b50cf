/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_needs - which events each metric of a model needs, itself and through others.
 *
 * Metrics stand in an order in which each refers only to those before it, so one pass is enough.
 */
#include <string.h>

#include "model/plan_int.h"

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

static void merge(uint64_t *to, const uint64_t *from, size_t words)
{
	for (size_t w = 0; w < words; w++)
		to[w] |= from[w];
}

static int needs_alloc(struct planning *k, struct metric_needs *x, struct err *err)
{
	size_t words = 4 * k->words + 2 * k->metric_words;
	uint64_t *b = arena_alloc(&k->scratch, words * sizeof(*b));

	if (!b)
		return err_nomem(err);
	x->full = b;
	x->tight = b + k->words;
	x->threshold = b + 2 * k->words;
	x->latency = b + 3 * k->words;
	x->nodes = b + 4 * k->words;
	x->threshold_metrics = x->nodes + k->metric_words;
	return 0;
}

static int needs_of(struct planning *k, uint32_t metric, uint64_t *refs, struct err *err)
{
	const struct model_metric *m = &k->m->metric[metric];
	struct metric_needs *x = &k->needs[metric];
	struct asking own = { k, x->tight, refs, x->latency };
	struct asking threshold = { k, x->threshold, x->threshold_metrics, x->latency };

	memset(refs, 0, k->metric_words * sizeof(*refs));
	if (m->expr && expr_needs(m->expr, k->w->system, ask, &own))
		return err_nomem(err);
	memcpy(x->full, x->tight, k->words * sizeof(uint64_t));
	for (size_t i = bit_next(refs, 0, metric); i < metric; i = bit_next(refs, i + 1, metric)) {
		const struct metric_needs *r = &k->needs[i];

		merge(x->full, r->full, k->words);
		merge(x->latency, r->latency, k->words);
		if (k->m->metric[i].level) {
			bit_set(x->nodes, i);
			continue;
		}
		merge(x->tight, r->tight, k->words);
		merge(x->nodes, r->nodes, k->metric_words);
	}
	if (k->w->thresholds && m->threshold &&
	    expr_needs(m->threshold, k->w->system, ask, &threshold))
		return err_nomem(err);
	x->has_threshold = bits_count(x->threshold, k->words) > 0;
	return 0;
}

/* What is known of events once, for all metrics. */
struct events_seen {
	uint64_t *fits;	 /* there is a counter for it; on the core */
	uint32_t leader; /* slots, or MODEL_NONE */
};

static int see_events(struct planning *k, struct events_seen *s, struct err *err)
{
	const char *why;

	s->leader = MODEL_NONE;
	s->fits = arena_alloc(&k->scratch, k->words * sizeof(*s->fits));
	if (!s->fits)
		return err_nomem(err);
	for (uint32_t e = 0; e < k->m->n_used; e++) {
		unsigned flags = k->m->event[e].flags;

		if (flags & EVENT_SLOTS && s->leader == MODEL_NONE)
			s->leader = e;
		if (!(flags & (EVENT_SOFTWARE | EVENT_UNCORE)) &&
		    (flags & EVENT_METRIC || schedule_fits(k->m, &k->l, &e, 1, &why)))
			bit_set(s->fits, e);
	}
	return 0;
}

/* Whether one group can hold all of it; what no counter here can count does not matter. */
static void see_fit(struct planning *k, const struct events_seen *s, struct metric_needs *x,
		    uint32_t *list)
{
	const char *why;
	size_t n = 0, end = k->m->n_used;
	bool slots = false, metric = false;

	for (size_t i = bit_next(x->full, 0, end); i < end; i = bit_next(x->full, i + 1, end)) {
		unsigned flags = k->m->event[i].flags;

		if (flags & (EVENT_SOFTWARE | EVENT_UNCORE))
			continue;
		slots |= !!(flags & EVENT_SLOTS);
		metric |= !!(flags & EVENT_METRIC);
		if (bit_test(s->fits, i))
			list[n++] = (uint32_t)i;
	}
	if (metric && !slots && s->leader != MODEL_NONE)
		list[n++] = s->leader;
	x->fits = schedule_fits(k->m, &k->l, list, n, &why);
}

int plan_needs(struct planning *k, struct err *err)
{
	uint64_t *refs;

	k->words = k->m->n_used / 64 + 1;
	k->metric_words = k->m->n_metrics / 64 + 1;
	refs = arena_alloc(&k->scratch, k->metric_words * sizeof(*refs));
	k->needs = arena_alloc(&k->scratch, (k->m->n_metrics + 1) * sizeof(*k->needs));
	if (!refs || !k->needs)
		return err_nomem(err);
	for (size_t i = 0; i < k->m->n_metrics; i++)
		if (needs_alloc(k, &k->needs[i], err) || needs_of(k, (uint32_t)i, refs, err))
			return -1;
	return 0;
}

int plan_fits(struct planning *k, struct err *err)
{
	struct events_seen seen;
	uint32_t *list = arena_alloc(&k->scratch, (k->m->n_events + 2) * sizeof(*list));

	if (!list)
		return err_nomem(err);
	if (see_events(k, &seen, err))
		return -1;
	for (size_t i = 0; i < k->m->n_metrics; i++)
		see_fit(k, &seen, &k->needs[i], list);
	return 0;
}
