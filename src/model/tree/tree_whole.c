/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/tree_whole.h"
#include "base/invariant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tree_whole {
	const struct model *m;
	const struct plan *plan;
	struct tree_maker *whole, *part;
	uint32_t slots; /* the metric that weighs, or MODEL_NONE: time does */
};

int tree_whole_new(struct tree_whole **out, const struct model *m, const struct plan *plan,
		   struct err *err)
{
	struct tree_whole *k = calloc(1, sizeof(*k));

	*out = NULL;
	if (!k)
		return err_nomem(err);
	k->m = m;
	k->plan = plan;
	k->slots = model_metric_find(m, "SLOTS", strlen("SLOTS"));
	if (tree_maker_new(&k->whole, m, plan->wanted, err) ||
	    tree_maker_new(&k->part, m, plan->wanted, err)) {
		tree_whole_free(k);
		return -1;
	}
	*out = k;
	return 0;
}

void tree_whole_free(struct tree_whole *k)
{
	if (!k)
		return;
	tree_maker_free(k->whole);
	tree_maker_free(k->part);
	free(k);
}

static double whole_value_of(const struct tree *t, uint32_t metric)
{
	const struct tree_node *n = metric == MODEL_NONE ? NULL : &t->node[metric];

	return n && n->value.why == VALUE_OK ? n->value.v : (double)NAN;
}

static double whole_slots_of(const struct tree_whole *k, const struct tree *t)
{
	return whole_value_of(t, k->slots);
}

/* Fills `part` with the values of a stage's nodes while it was on. part->weight is in slots, or
 * less than 0: by time. */
static int see_stage(struct tree_whole *k, struct slices *s, const struct plan_stage *stage,
		     const struct tree_whole_ask *ask, const struct tree_counts *base,
		     struct tree_part *part, struct err *err)
{
	struct tree_counts c = { .latency = base->latency,
				 .latency_se = base->latency_se,
				 .system = base->system };
	double *value = arena_alloc(ask->a, (stage->n_metrics + 1) * sizeof(*value));
	double *error = arena_alloc(ask->a, (stage->n_metrics + 1) * sizeof(*error));
	struct tree t;

	if (!value || !error)
		return err_nomem(err);
	if (slices_counts_when(s, ask->a, stage->group, stage->n_groups, ask->from, ask->to, &c,
			       err) ||
	    tree_make(&t, k->part, &c, err))
		return -1;
	for (size_t i = 0; i < stage->n_metrics; i++) {
		value[i] = whole_value_of(&t, stage->metric[i]);
		error[i] = t.node[stage->metric[i]].error;
	}
	part->under_seen = whole_value_of(&t, stage->under);
	part->metric = stage->metric;
	part->n = stage->n_metrics;
	part->value = value;
	part->error = error;
	part->weight = whole_slots_of(k, &t);
	return 0;
}

/* Turns part->weight into the part's share of all slots, or of the time. */
static void weigh_whole(struct tree_part *part, const struct slices_seen *seen, double slots)
{
	double share = part->weight / slots;

	if (!(share >= 0))
		share = seen->time / seen->all;
	part->weight = fmin(share, 1);
	assert(is_share_or_unknown(part->weight));
	if (isnan(part->under_seen))
		part->under_seen = 0;
}

/* An event that a stage needs, of the group that is most its own. */
static uint32_t first_event(const struct plan *p, const struct plan_stage *stage)
{
	return stage->n_groups ? p->group[stage->group[stage->n_groups - 1]].event[0] : 0;
}

int tree_whole_make(struct tree *out, struct tree_whole *k, struct slices *s,
		    const struct tree_whole_ask *ask, struct tree_counts *counts, struct err *err)
{
	size_t n = 0, stages = k->plan->n_stages;
	struct tree_part *part = arena_alloc(ask->a, (stages + 1) * sizeof(*part));
	struct slices_seen *seen = arena_alloc(ask->a, (stages + 1) * sizeof(*seen));
	double slots;

	if (!part || !seen)
		return err_nomem(err);
	if (slices_catch_up(s, err))
		return -1;
	for (size_t i = 1; i < stages; i++) {
		const struct plan_stage *stage = &k->plan->stage[i];

		slices_when_seen(s, stage->group, stage->n_groups, ask->from, ask->to, &seen[n]);
		if (!(seen[n].time < seen[n].all)) /* nothing is missing */
			continue;
		part[n].under = stage->under;
		part[n].visits = seen[n].visits;
		part[n].event = first_event(k->plan, stage);
		part[n].never = !(seen[n].time > 0);
		if (part[n].never) {
			part[n].metric = stage->metric;
			part[n].n = stage->n_metrics;
		} else if (see_stage(k, s, stage, ask, counts, &part[n], err))
			return -1;
		n++;
	}
	/* last, since the result's arrays belong to the slices */
	if (slices_counts_since(s, ask->a, ask->since, ask->from, ask->to, counts, err))
		return -1;
	if (!n)
		return tree_make(out, k->whole, counts, err);
	if (tree_make(out, k->whole, counts, err))
		return -1;
	slots = whole_slots_of(k, out);
	for (size_t i = 0; i < n; i++)
		weigh_whole(&part[i], &seen[i], slots);
	return tree_make_parts(out, k->whole, counts, part, n, err);
}
