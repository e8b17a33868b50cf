/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes that were counted for a part of the time.
 *
 * The share of such a node is the sum of its share while it was counted (seen) and its share of the
 * rest. The rest lies between 0 and H, the parent's share there: H is known within its own error E,
 * since a parent is counted whenever its children are, and at last by level 1, which always counts.
 * Random visits are a sample of the rest: m of them give the mean q. The estimate adds four
 * imaginary visits that know nothing: spread between the bounds, with the centre c at which all
 * children have the same. (Agresti and Coull, "Approximate is better than exact", 1998: so the
 * interval of a proportion holds with few trials, and if all of them are 0.)
 *
 *	rest = (m q + 4 c) / (m + 4)
 *	error^2 = seen^2 + (m / (m + 4) of what visits differ)^2 + (4 d / (m + 4))^2
 *
 * where d^2 = (H - c)^2 + E^2: the longer way from c to a bound, which is not known better than the
 * parent is. (The error of the parent goes to both sides: a centre between 0 and H + E would make
 * the children of a parent that is not known well too large.) Without a visit the rest is c +- d.
 */
#include <math.h>

#include "base/estimate.h"
#include "base/invariant.h"
#include "model/tree/tree_int.h"

#define ALL_OF_IT  0.999 /* of the time */
#define NEVER_MADE 4.0	 /* visits */
#define APART	   1.5	 /* nodes of another domain than their parent's are no part of it */

struct rest {
	const struct tree_part *p;
	double had;  /* by the parent, in the rest */
	double sure; /* at most: B */
	size_t kin;  /* nodes that share it */
};

static bool divides(const struct tree_work *w, uint32_t i)
{
	const struct model_metric *m = &w->m->metric[i];

	return !m->overlap && m->domain == DOMAIN_SLOTS && m->parent != MODEL_NONE &&
	       w->m->metric[m->parent].domain == DOMAIN_SLOTS;
}

static bool is_child(const struct tree_work *w, const struct tree_part *p, size_t i)
{
	uint32_t x = p->metric[i];

	/* without events, or with those that always counted: nothing is missing */
	return tree_is_node(&w->m->metric[x]) && w->m->metric[x].parent == p->under &&
	       tree_known(w, x) && w->node[x].counted < ALL_OF_IT;
}

static struct rest rest_of(const struct tree_work *w, const struct tree_part *p)
{
	struct rest r = { .p = p };
	const struct tree_node *under = &w->node[p->under];
	double unseen = 1 - p->weight, had = w->value[p->under].v - p->weight * p->under_seen;

	r.had = fmin(fmax(had, 0), unseen);
	r.sure = fmin(r.had + sqrt(unseen) * (isnan(under->error) ? 0 : under->error), unseen);
	for (size_t i = 0; i < p->n; i++)
		r.kin += is_child(w, p, i);
	return r;
}

/* The largest possible ratio of a node to its parent. If the node is no part of its parent, the
 * ratio is a guess: APART times the ratio while both were seen, at least APART. */
static double times_of(const struct tree_work *w, const struct rest *r, size_t i)
{
	double by = r->p->value[i] / r->p->under_seen;

	if (divides(w, r->p->metric[i]))
		return 1;
	return by > 1 ? APART * by : APART;
}

static void combine_one(struct tree_work *w, const struct rest *r, size_t i)
{
	const struct tree_part *p = r->p;
	uint32_t x = p->metric[i];
	struct tree_node *n = &w->node[x];
	double unseen = 1 - p->weight, times = times_of(w, r, i);
	double had = fmin(times * r->had, unseen), most = fmin(times * r->sure, unseen);
	double centre = r->had / (double)(r->kin > 1 ? r->kin : 2);
	/* a guess has no error that would be independent of the parent's */
	double far = divides(w, x) ? hypot(had - centre, most - had) : most - centre;
	double m = p->visits, few = NEVER_MADE / (m + NEVER_MADE);
	double seen = p->weight * p->value[i], seen_error = p->weight * p->error[i];
	double rest = fmin(fmax(w->value[x].v - seen, 0), most), var = 0;

	if (isnan(seen_error)) /* few slices: it had no more than its parent in them, either */
		seen_error = p->weight * fmax(p->under_seen, p->value[i]);
	if (m > 0)
		var = isnan(n->error) ? Z95 * Z95 * rest * (most - rest) / m
				      : fmax(n->error * n->error - seen_error * seen_error, 0);
	n->open = tree_shown(&w->m->metric[x], p->value[i]);
	n->open_error = p->error[i];
	n->unseen = few * far;
	n->error = sqrt(seen_error * seen_error + pow(1 - few, 2) * var + n->unseen * n->unseen);
	n->no_error = NULL;
	assert(!(n->error < 0) && !(n->unseen < 0) && !(var < 0));
	w->value[x].v = seen + (m > 0 ? (1 - few) * rest + few * centre : centre);
}

bool tree_open_differs(const struct tree_node *n)
{
	return fabs(n->open - n->shown) > n->error + n->open_error;
}

bool tree_bound(const struct tree_node *n, double *low, double *high)
{
	const double mostly = 0.9, much = 0.25, least = 0.005;

	if (isnan(n->shown) || !(n->error > least) || n->unseen < mostly * n->error ||
	    n->error < much * n->shown)
		return false;
	*low = fmax(0, n->shown - n->error);
	*high = fmin(1, n->shown + n->error);
	return true;
}

static void no_value(struct tree_work *w, uint32_t x, uint32_t event)
{
	w->value[x] = (struct value){ NAN, VALUE_NOT_COUNTED, event };
	w->node[x].error = NAN;
	w->node[x].no_error = "not measured";
}

/* Its counts, or its parent's, have errors that slices do not show. */
static bool no_bar(struct tree_work *w, const struct tree_part *p, uint32_t x)
{
	struct tree_node *n = &w->node[x];
	const struct tree_node *under = &w->node[p->under];

	if (isnan(n->error) && n->no_error == tree_no_latency)
		return true;
	if (!isnan(under->error))
		return false;
	n->error = NAN;
	n->no_error = under->no_error;
	return true;
}

static void combine_part(struct tree_work *w, const struct tree_part *p)
{
	struct rest r = rest_of(w, p);

	for (size_t i = 0; i < p->n; i++) {
		uint32_t x = p->metric[i];

		if (!is_child(w, p, i))
			continue;
		if (p->never || isnan(p->value[i]))
			no_value(w, x, p->event);
		else if (!no_bar(w, p, x))
			combine_one(w, &r, i);
	}
}

/* Parts are no more than their whole: an excess is taken from each in proportion, and added to its
 * error. */
static void fit_sum(struct tree_work *w, const struct tree_part *p)
{
	double sum = 0, whole = w->value[p->under].v;

	for (size_t i = 0; i < p->n; i++)
		if (is_child(w, p, i) && divides(w, p->metric[i]))
			sum += fmax(w->value[p->metric[i]].v, 0);
	if (!(sum > whole) || !(whole > 0))
		return;
	for (size_t i = 0; i < p->n; i++) {
		double *v = &w->value[p->metric[i]].v, less;

		if (!is_child(w, p, i) || !divides(w, p->metric[i]) || !(*v > 0))
			continue;
		less = *v * (1 - whole / sum);
		assert(less >= 0 && less <= *v);
		*v -= less;
		w->node[p->metric[i]].error += less;
	}
}

void tree_combine(struct tree_work *w, const struct tree_part *part, size_t n)
{
	for (unsigned level = 1; level < TREE_LEVELS; level++)
		for (size_t i = 0; i < n; i++) {
			const struct tree_part *p = &part[i];

			if (w->m->metric[p->under].level != level || !tree_known(w, p->under))
				continue;
			combine_part(w, p);
			fit_sum(w, p);
		}
	tree_each (w, i)
		w->node[i].value = w->value[i];
}
