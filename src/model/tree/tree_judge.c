/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which values may be printed as a share, and where counters disagree.
 */
#include <math.h>
#include <string.h>

#include "model/tree/tree_int.h"

#define MANY 64 /* children of one node */

/* Something that should not be above 0: sum of by[i] * metric[i], less `limit`. */
struct claim {
	const uint32_t *metric;
	const double *by;
	size_t n;
	double limit;
};

static bool broken(const struct tree_work *w, const struct claim *c)
{
	const char *why = NULL;
	double v = -c->limit, error;

	for (size_t i = 0; i < c->n; i++)
		v += c->by[i] * w->value[c->metric[i]].v;
	if (!(v > TREE_SLACK)) /* whatever its error */
		return false;
	error = tree_error_of(w, c->metric, c->by, c->n, NULL, &why);
	return v > TREE_SLACK + (isnan(error) ? 0 : error);
}

static uint32_t parts_group_of(const struct tree_counts *c, uint32_t event)
{
	for (uint32_t g = 0; g < c->n_groups; g++)
		for (uint32_t i = c->first[g]; i < c->first[g + 1]; i++)
			if (c->member[i] == event)
				return g;
	return MODEL_NONE;
}

/* The two events that pull hardest in opposite directions; of different groups, if there are. */
static void blame(struct tree_work *w, const struct claim *c, uint32_t against[2])
{
	double most = 0, least = 0, other = 0;
	uint32_t down = MODEL_NONE, apart = MODEL_NONE, group;

	against[0] = MODEL_NONE;
	for (uint32_t e = 0; e < w->m->n_used; e++) {
		double pull = tree_pull(w, c->metric, c->by, c->n, e);

		if (pull > most) {
			most = pull;
			against[0] = e;
		}
	}
	group = against[0] == MODEL_NONE ? MODEL_NONE : parts_group_of(w->c, against[0]);
	for (uint32_t e = 0; e < w->m->n_used; e++) {
		double pull = tree_pull(w, c->metric, c->by, c->n, e);

		if (pull < least) {
			least = pull;
			down = e;
		}
		if (pull < other && parts_group_of(w->c, e) != group) {
			other = pull;
			apart = e;
		}
	}
	against[1] = apart != MODEL_NONE ? apart : down;
}

static void doubt_node(struct tree_work *w, uint32_t i, enum tree_doubt why, const struct claim *c)
{
	if (w->node[i].doubt)
		return;
	w->node[i].doubt = why;
	if (c)
		blame(w, c, w->node[i].against);
}

/* Slots are divided among children; other domains are not. */
static bool is_part(const struct tree_work *w, uint32_t i)
{
	const struct model_metric *m = &w->m->metric[i];

	return tree_is_node(m) && tree_known(w, i) && !m->overlap && m->domain == DOMAIN_SLOTS &&
	       (m->parent == MODEL_NONE ||
		(w->m->metric[m->parent].domain == DOMAIN_SLOTS && tree_known(w, m->parent)));
}

static void judge_one(struct tree_work *w, uint32_t i)
{
	uint32_t parent = w->m->metric[i].parent;
	const uint32_t pair[] = { i, parent };
	const double by[] = { 1, -1 };
	const struct claim negative = { pair, by + 1, 1, 0 };
	const struct claim over = { pair, by, 1, 1 };
	const struct claim parents = { pair, by, 2, 0 };

	if (parent != MODEL_NONE && w->node[parent].doubt)
		doubt_node(w, i, DOUBT_PARENT, NULL);
	else if (broken(w, &negative))
		doubt_node(w, i, DOUBT_NEGATIVE, &negative);
	else if (broken(w, &over))
		doubt_node(w, i, DOUBT_OVER, &over);
	else if (parent != MODEL_NONE && is_part(w, i) && broken(w, &parents))
		doubt_node(w, i, DOUBT_OVER, &parents);
}

/* Children of one node (MODEL_NONE: the first level) that together are more than it. */
static void judge_sum(struct tree_work *w, uint32_t parent)
{
	size_t at = parent == MODEL_NONE ? w->m->n_metrics : parent;
	const uint32_t *from = w->child + w->kids[at], *to = w->child + w->kids[at + 1];
	uint32_t metric[MANY], against[2];
	double by[MANY];
	struct claim sum = { metric, by, 0, parent == MODEL_NONE };

	if (to - from < (parent == MODEL_NONE ? 2 : 1))
		return;
	for (const uint32_t *i = from; i < to && sum.n < MANY - 1; i++)
		if (is_part(w, *i) && !w->node[*i].doubt) {
			metric[sum.n] = *i;
			by[sum.n++] = 1;
		}
	if (parent != MODEL_NONE) {
		metric[sum.n] = parent;
		by[sum.n++] = -1;
	}
	if (sum.n < 2 || !broken(w, &sum))
		return;
	blame(w, &sum, against);
	for (const uint32_t *i = from; i < to; i++) {
		struct tree_node *n = &w->node[*i];

		if (!is_part(w, *i) || n->doubt)
			continue;
		n->doubt = DOUBT_CHILDREN;
		n->against[0] = against[0];
		n->against[1] = against[1];
	}
}

/* Factor that makes a value a share of 1; 0: it is none. */
static double as_share(const struct model_metric *m)
{
	return tree_is_node(m) ? 1 : m->unit && !strcmp(m->unit, "%") ? m->scale / 100 : 0;
}

/* The most that a share can be, in its own unit; INFINITY: it is no share. */
static double most_of(const struct model_metric *m)
{
	double most = tree_is_node(m) && !isnan(m->max) && m->max < 1 ? m->max : 1;
	double by = as_share(m);

	return by > 0 ? most / by : INFINITY;
}

double tree_shown(const struct model_metric *m, double v)
{
	double most = most_of(m);

	return isinf(most) ? v : fmin(fmax(v, 0), most);
}

/* The error of a share ends where shares do, and a value that is known no better is as it is shown:
 * a ratio of a moment in which almost nothing happened has an error of millions. */
static void show_node(const struct model_metric *m, struct tree_node *n)
{
	double far;

	n->shown = tree_shown(m, n->value.v);
	far = fmax(n->shown, most_of(m) - n->shown);
	if (n->error > far) {
		n->error = far;
		n->value.v = n->shown;
	}
}

/* A metric of no level in per cent. */
static void judge_percent(struct tree_work *w, uint32_t i)
{
	double share = as_share(&w->m->metric[i]);
	const double by[] = { share, -share };
	const struct claim negative = { &i, by + 1, 1, 0 };
	const struct claim over = { &i, by, 1, 1 };

	if (broken(w, &negative))
		doubt_node(w, i, DOUBT_NEGATIVE, &negative);
	else if (broken(w, &over))
		doubt_node(w, i, DOUBT_OVER, &over);
}

static bool divides(const struct model_metric *m)
{
	return tree_is_node(m) && !m->overlap && m->domain == DOMAIN_SLOTS;
}

void tree_judge_means(const struct model *m, struct tree_node *node)
{
	for (uint32_t p = 0; p < m->n_metrics; p++) {
		double sum = 0, slack = isnan(node[p].error) ? 0 : node[p].error;

		if (!divides(&m->metric[p]) || isnan(node[p].shown))
			continue;
		for (uint32_t i = 0; i < m->n_metrics; i++) {
			if (m->metric[i].parent != p || !divides(&m->metric[i]) ||
			    isnan(node[i].shown))
				continue;
			sum += node[i].shown;
			slack += TREE_SLACK + (isnan(node[i].error) ? 0 : node[i].error);
		}
		if (sum <= node[p].shown + slack)
			continue;
		for (uint32_t i = 0; i < m->n_metrics; i++) {
			if (m->metric[i].parent != p || !divides(&m->metric[i]) ||
			    isnan(node[i].shown))
				continue;
			node[i].doubt = DOUBT_CHILDREN;
			node[i].shown = NAN;
			node[i].over = false;
			node[i].against[0] = node[i].against[1] = MODEL_NONE;
		}
	}
	tree_path_of_means(m, node);
}

static bool distrusts(const struct tree_counts *c, uint32_t event)
{
	return (c->wrong && c->wrong[event]) ||
	       (c->dead && c->dead[event] && tree_sum(c, event) == 0);
}

/* An event without which a metric has no value, if that event is dead or known to be wrong; metrics
 * refer only to those before them, so these are judged already. */
static uint32_t dead_event(const struct tree_work *w, uint32_t metric)
{
	for (uint32_t r = w->first[metric]; r < w->first[metric + 1]; r++) {
		const struct tree_ref *ref = &w->refs.v[r];

		if (ref->kind == EXPR_EVENT && distrusts(w->c, ref->index))
			return ref->index;
		if (ref->kind == EXPR_METRIC && w->node[ref->index].doubt == DOUBT_DEAD)
			return w->node[ref->index].against[0];
	}
	return MODEL_NONE;
}

static void judge_dead(struct tree_work *w)
{
	if (!w->c->dead && !w->c->wrong)
		return;
	tree_each (w, i) {
		uint32_t event = dead_event(w, i);

		if (event == MODEL_NONE)
			continue;
		w->node[i].doubt = DOUBT_DEAD;
		w->node[i].against[0] = event;
	}
}

void tree_judge(struct tree_work *w)
{
	const uint32_t *above, *at = w->by_level, *end = at + w->n_list;

	judge_dead(w);
	while (at < end && !tree_is_node(&w->m->metric[*at]))
		at++;
	/* from the top, as parts of a doubtful whole are doubtful */
	for (above = at; at < end;) {
		unsigned level = w->m->metric[*at].level;
		const uint32_t *these = at;

		for (; at < end && w->m->metric[*at].level == level; at++)
			if (tree_known(w, *at))
				judge_one(w, *at);
		if (above == these)
			judge_sum(w, MODEL_NONE);
		for (; above < these; above++)
			if (tree_known(w, *above) && !w->node[*above].doubt)
				judge_sum(w, *above);
	}
	tree_each (w, i)
		if (!tree_is_node(&w->m->metric[i]) && tree_known(w, i) &&
		    as_share(&w->m->metric[i]) > 0 && !w->node[i].doubt)
			judge_percent(w, i);
	tree_each (w, i)
		if (tree_known(w, i) && !w->node[i].doubt)
			show_node(&w->m->metric[i], &w->node[i]);
}
