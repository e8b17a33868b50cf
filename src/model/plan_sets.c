/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_sets - which metrics are wanted, and which events each stage wants together.
 */
#include <string.h>

#include "model/plan_int.h"

static bool is_node(const struct model_metric *x)
{
	return x->level > 0;
}

static bool deep_enough(const struct planning *k, const struct model_metric *x)
{
	return is_node(x) && (!k->w->level || x->level <= k->w->level);
}

static bool named(const struct plan_wish *w, uint32_t metric)
{
	for (size_t i = 0; i < w->n_metrics; i++)
		if (w->metric[i] == metric)
			return true;
	return false;
}

int plan_choose(struct planning *k, struct err *err)
{
	for (size_t i = 0; i < k->w->n_metrics; i++) {
		if (k->w->metric[i] >= k->m->n_metrics)
			return err_set(err, ERR_USAGE, "metric %u of a model of %zu",
				       k->w->metric[i], k->m->n_metrics);
		k->wanted[k->w->metric[i]] = true;
	}
	for (size_t i = 0; i < k->m->n_metrics && !k->w->no_tree; i++)
		if (deep_enough(k, &k->m->metric[i]))
			k->wanted[i] = true;
	return 0;
}

/* An event of the core's counters that is not pinned. */
static bool takes_turns(const struct planning *k, uint32_t event)
{
	if (k->m->event[event].flags & (EVENT_SOFTWARE | EVENT_UNCORE))
		return false;
	for (size_t i = 0; i < k->l.n_beside; i++)
		if (k->l.beside[i] == event)
			return false;
	return true;
}

static int push_set(struct planning *k, struct stage_sets *out, const uint64_t *bits,
		    uint32_t metric, unsigned weight, struct err *err)
{
	struct schedule_set *set = &out->set[out->n];
	uint32_t *ev = arena_alloc(&k->scratch, (bits_count(bits, k->words) + 2) * sizeof(*ev));
	bool turns = false;

	if (!ev)
		return err_nomem(err);
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < k->m->n_used; i++) {
		if (!bit_test(bits, i))
			continue;
		ev[set->n++] = (uint32_t)i;
		turns |= takes_turns(k, (uint32_t)i);
	}
	if (turns && k->filler != MODEL_NONE && !bit_test(bits, k->filler))
		ev[set->n++] = k->filler;
	set->event = ev;
	set->weight = weight;
	out->metric[out->n++] = metric;
	return 0;
}

static unsigned weight_of(const struct planning *k, uint32_t metric)
{
	unsigned level = k->m->metric[metric].level;

	return level ? 16 - (level < 15 ? level : 15) : named(k->w, metric) ? 16 : 0;
}

/* The metric's set, and where that does not hold all of it those of what it refers to; and what it
 * has in common with others. */
static int add_metric(struct planning *k, struct stage_sets *out, uint32_t metric, struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	bool whole = !k->w->loose && plan_fits(k, metric);
	int rc;

	if (out->seen[metric])
		return 0;
	out->seen[metric] = true;
	rc = push_set(k, out, whole ? x->full : x->tight, metric, weight_of(k, metric), err);
	for (size_t i = 0; !rc && i < metric; i++)
		if ((!whole && bit_test(x->nodes, i)) ||
		    (bit_test(k->common, i) && bit_test(x->aux, i)))
			rc = add_metric(k, out, (uint32_t)i, err);
	return rc;
}

/* What its threshold asks for: the events need not be in the metric's group. */
static int add_threshold(struct planning *k, struct stage_sets *out, uint32_t metric,
			 struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	int rc = 0;

	if (x->has_threshold)
		rc = push_set(k, out, x->threshold, MODEL_NONE, 0, err);
	for (size_t i = 0; !rc && i < k->m->n_metrics; i++)
		if (bit_test(x->threshold_metrics, i))
			rc = add_metric(k, out, (uint32_t)i, err);
	return rc;
}

int plan_stage_sets(struct planning *k, struct stage_sets *out, uint32_t under, bool all,
		    struct err *err)
{
	out->n = 0;
	memset(out->seen, 0, k->m->n_metrics * sizeof(*out->seen));
	out->n_asked = 0;
	for (size_t i = 0; i < k->m->n_metrics; i++) {
		const struct model_metric *x = &k->m->metric[i];
		bool first = named(k->w, (uint32_t)i) || all ||
			     (x->level == 1 || x->parent == MODEL_NONE);

		if (!k->wanted[i] || (under == MODEL_NONE ? !first : first || x->parent != under))
			continue;
		out->asked[out->n_asked++] = (uint32_t)i;
		if (add_metric(k, out, (uint32_t)i, err) ||
		    (k->w->thresholds && add_threshold(k, out, (uint32_t)i, err)))
			return -1;
	}
	return 0;
}

int plan_sets_init(struct planning *k, struct stage_sets *s, struct err *err)
{
	size_t n = k->m->n_metrics;

	s->set = arena_alloc(&k->scratch, (2 * n + 1) * sizeof(*s->set));
	s->metric = arena_alloc(&k->scratch, (2 * n + 1) * sizeof(*s->metric));
	s->asked = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->asked));
	s->seen = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->seen));
	return s->set && s->metric && s->asked && s->seen ? 0 : err_nomem(err);
}
