/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_sets - which metrics are wanted, and which events each stage wants together.
 */
#include <string.h>

#include "model/plan/plan_int.h"

static bool is_node(const struct model_metric *x)
{
	return x->level > 0;
}

static bool deep_enough(const struct planning *k, const struct model_metric *x)
{
	return is_node(x) && (!k->w->level || x->level <= k->w->level);
}

static bool is_metric_named(const struct plan_wish *w, uint32_t metric)
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

static unsigned set_weight_of(const struct planning *k, uint32_t metric)
{
	unsigned level = k->m->metric[metric].level;

	return level ? 16 - (level < 15 ? level : 15) : is_metric_named(k->w, metric) ? 16 : 0;
}

/* Events that take a general counter, one by one; or which few fit beside, of which the schedule
 * knows better how to cut them. */
static bool goes_alone(const struct planning *k, uint32_t event)
{
	const struct model_event *e = &k->m->event[event];

	return !e->fixed && !(e->flags & (EVENT_METRIC | EVENT_SLOTS | EVENT_SOFTWARE |
					  EVENT_UNCORE | EVENT_SMT_EXCLUSIVE));
}

/* A set that no group can hold as sets of one event (and of those that cost nothing) each, which go
 * last, into the room that the others leave. */
static int push_pieces(struct planning *k, struct stage_sets *out, uint32_t metric, struct err *err)
{
	const uint64_t *all = k->needs[metric].tight;
	uint64_t *piece = arena_alloc(&k->scratch, 2 * k->words * sizeof(*piece));
	uint64_t *rest = piece ? piece + k->words : NULL;
	size_t end = k->m->n_used;

	if (!piece)
		return err_nomem(err);
	memcpy(rest, all, k->words * sizeof(*rest));
	for (size_t i = bit_next(all, 0, end); i < end; i = bit_next(all, i + 1, end))
		if (goes_alone(k, (uint32_t)i))
			rest[i / 64] &= ~(1ULL << (i % 64));
	for (size_t i = bit_next(all, 0, end); i < end; i = bit_next(all, i + 1, end)) {
		if (!goes_alone(k, (uint32_t)i))
			continue;
		memcpy(piece, rest, k->words * sizeof(*piece));
		bit_set(piece, i);
		if (push_set(k, out, piece, metric, 0, err))
			return -1;
	}
	k->mixed[metric] = true;
	return 0;
}

static bool in_pieces(struct planning *k, uint32_t metric)
{
	const uint64_t *bits = k->needs[metric].tight;
	size_t end = k->m->n_used;

	if (!k->ahead || plan_fits_tight(k, metric))
		return false;
	for (size_t i = bit_next(bits, 0, end); i < end; i = bit_next(bits, i + 1, end))
		if (k->m->event[i].flags & EVENT_SMT_EXCLUSIVE)
			return false;
	return true;
}

/* The metric's set, and if that does not hold all of it, the sets of the metrics that it refers to;
 * and the values that it shares with others. */
static int add_metric_set(struct planning *k, struct stage_sets *out, uint32_t metric,
			  struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	bool whole = !k->w->loose && plan_fits(k, metric);
	int rc;

	if (out->seen[metric])
		return 0;
	out->seen[metric] = true;
	if (!whole && in_pieces(k, metric))
		rc = push_pieces(k, out, metric, err);
	else
		rc = push_set(k, out, whole ? x->full : x->tight, metric, set_weight_of(k, metric),
			      err);
	for (size_t i = 0; !rc && i < metric; i++)
		if ((!whole && bit_test(x->nodes, i)) ||
		    (bit_test(k->common, i) && bit_test(x->aux, i)))
			rc = add_metric_set(k, out, (uint32_t)i, err);
	return rc;
}

/* Needs of its threshold: these events need not be in the metric's group. */
static int add_threshold(struct planning *k, struct stage_sets *out, uint32_t metric,
			 struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	int rc = 0;

	if (x->has_threshold)
		rc = push_set(k, out, x->threshold, MODEL_NONE, 0, err);
	for (size_t i = 0; !rc && i < k->m->n_metrics; i++)
		if (bit_test(x->threshold_metrics, i))
			rc = add_metric_set(k, out, (uint32_t)i, err);
	return rc;
}

/* The metric's sets and its threshold's. */
static int add_whole(struct planning *k, struct stage_sets *out, uint32_t metric, struct err *err)
{
	if (add_metric_set(k, out, metric, err))
		return -1;
	return k->w->thresholds ? add_threshold(k, out, metric, err) : 0;
}

int plan_stage_sets(struct planning *k, struct stage_sets *out, uint32_t under, bool all,
		    struct err *err)
{
	out->n = 0;
	memset(out->seen, 0, k->m->n_metrics * sizeof(*out->seen));
	out->n_asked = 0;
	for (size_t i = 0; i < k->m->n_metrics; i++) {
		const struct model_metric *x = &k->m->metric[i];
		bool first = is_metric_named(k->w, (uint32_t)i) || all ||
			     (x->level == 1 || x->parent == MODEL_NONE);

		if (!k->wanted[i] || (under == MODEL_NONE ? !first : first || x->parent != under))
			continue;
		out->asked[out->n_asked++] = (uint32_t)i;
		if (add_whole(k, out, (uint32_t)i, err))
			return -1;
	}
	out->n_own = out->n;
	return 0;
}

static void add_events_under(const struct planning *k, uint32_t node, uint64_t *bits)
{
	for (size_t i = 0; i < k->m->n_metrics; i++)
		for (size_t w = 0; k->wanted[i] && k->m->metric[i].parent == node && w < k->words;
		     w++)
			bits[w] |= k->needs[i].tight[w];
}

int plan_demand(struct planning *k, uint32_t under, size_t *events, uint32_t *child,
		struct err *err)
{
	uint64_t *own = arena_alloc(&k->scratch, 2 * k->words * sizeof(*own)), *more;

	if (!own)
		return err_nomem(err);
	more = own + k->words;
	*child = MODEL_NONE;
	add_events_under(k, under, own);
	*events = bits_count(own, k->words);
	for (uint32_t i = 0; i < k->m->n_metrics; i++) {
		if (!k->wanted[i] || k->m->metric[i].parent != under)
			continue;
		memcpy(more, own, k->words * sizeof(*more));
		add_events_under(k, i, more);
		if (bits_count(more, k->words) > *events) {
			*events = bits_count(more, k->words);
			*child = i;
		}
	}
	return 0;
}

int plan_sets_below(struct planning *k, struct stage_sets *out, uint32_t under, struct err *err)
{
	uint32_t child;
	size_t events;

	if (plan_demand(k, under, &events, &child, err))
		return -1;
	for (uint32_t i = 0; i < k->m->n_metrics && child != MODEL_NONE; i++)
		if (k->wanted[i] && k->m->metric[i].parent == child && add_whole(k, out, i, err))
			return -1;
	return 0;
}

/* A metric in pieces has a set for each of its events. */
static size_t most_sets(const struct planning *k)
{
	size_t n = 2 * k->m->n_metrics + 1;

	for (size_t i = 0; i < k->m->n_metrics && k->ahead; i++)
		n += bits_count(k->needs[i].tight, k->words);
	return n;
}

int plan_sets_init(struct planning *k, struct stage_sets *s, struct err *err)
{
	size_t n = k->m->n_metrics, sets = most_sets(k);

	s->set = arena_alloc(&k->scratch, sets * sizeof(*s->set));
	s->metric = arena_alloc(&k->scratch, sets * sizeof(*s->metric));
	s->asked = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->asked));
	s->seen = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->seen));
	return s->set && s->metric && s->asked && s->seen ? 0 : err_nomem(err);
}
