/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes are over their thresholds, and the path to the node that matters most.
 */
#include <math.h>

#include "model/tree/tree_int.h"

/* A threshold over these values: thresholds may ask of others whether they are over, parents after
 * children in the model's order or before, so it is done until nothing changes. */
static void evaluate_node(struct tree_work *w)
{
	bool again = true;

	for (int round = 0; again && round < 8; round++) {
		again = false;
		tree_each (w, i) {
			struct value old = w->passes[i];

			/* only those that ask for others change once they are known */
			if (!w->m->metric[i].threshold || (round && !w->asks[i_at]))
				continue;
			expr_steps_run(&w->steps, w->passed[i_at]);
			again = again || w->passes[i].why != old.why ||
				(!old.why && w->passes[i].v != old.v);
		}
	}
}

static bool passes(const struct tree_work *w, uint32_t i)
{
	return !w->passes[i].why && w->passes[i].v != 0;
}

/* Has it a parent that it asks for, and is that one (`of`) over? One without threshold does not
 * stand in the way. */
static bool parent_is(const struct tree_work *w, uint32_t i, bool maybe)
{
	const struct model_metric *m = &w->m->metric[i];
	const struct tree_node *p;

	if (m->parent == MODEL_NONE || !expr_wants_parent(m->threshold))
		return true;
	p = &w->node[m->parent];
	if (!w->m->metric[m->parent].threshold)
		return !p->doubt;
	return maybe ? p->maybe : p->over;
}

static void bend_one(struct tree_work *w, uint32_t i, double by)
{
	struct value old = w->passes[i];
	double v = w->value[i].v;

	w->value[i].v = v + by;
	expr_steps_run(&w->steps, w->passed[w->row[i] - 1]);
	w->node[i].maybe = w->node[i].maybe || passes(w, i);
	w->passes[i] = old;
	w->value[i].v = v;
}

static void one(struct tree_work *w, uint32_t i)
{
	const struct model_metric *m = &w->m->metric[i];
	struct tree_node *n = &w->node[i];
	double by = isnan(n->error) ? 0 : n->error; /* unknown until the next readings */

	if (!m->threshold) {
		/* it may matter */
		n->maybe = tree_is_node(m) && (m->parent == MODEL_NONE || w->node[m->parent].maybe);
		return;
	}
	n->over = !n->doubt && passes(w, i) && parent_is(w, i, false);
	n->maybe = passes(w, i) || n->doubt;
	if (by > 0) {
		bend_one(w, i, by);
		bend_one(w, i, -by);
	}
	n->maybe = n->maybe && parent_is(w, i, true);
}

void tree_thresholds(struct tree_work *w)
{
	evaluate_node(w);
	for (size_t k = 0; k < w->n_list; k++)
		if (tree_known(w, w->by_level[k]))
			one(w, w->by_level[k]);
}

/* The largest and the next of the children that are over; how many there are. */
static size_t largest(const struct tree_work *w, uint32_t parent, uint32_t top[2])
{
	size_t n = 0, place = parent == MODEL_NONE ? w->m->n_metrics : parent;

	top[0] = top[1] = MODEL_NONE;
	for (uint32_t k = w->kids[place]; k < w->kids[place + 1]; k++) {
		uint32_t i = w->child[k];
		const struct model_metric *m = &w->m->metric[i];

		if (!tree_is_node(m) || m->overlap || !w->node[i].over)
			continue;
		n++;
		if (top[0] == MODEL_NONE || w->value[i].v > w->value[top[0]].v) {
			top[1] = top[0];
			top[0] = i;
		} else if (top[1] == MODEL_NONE || w->value[i].v > w->value[top[1]].v) {
			top[1] = i;
		}
	}
	return n;
}

void tree_path(struct tree_work *w)
{
	static const double by[2] = { 1, -1 };
	uint32_t at = MODEL_NONE, top[2];

	for (;;) {
		size_t n = largest(w, at, top);

		if (!n)
			return;
		if (n > 1) {
			const char *why = NULL;
			double error = tree_error_of(w, top, by, 2, NULL, &why);
			double apart = w->value[top[0]].v - w->value[top[1]].v;

			error = hypot(error, hypot(w->node[top[0]].unseen, w->node[top[1]].unseen));

			if (apart <= TREE_TIE || (!isnan(error) && apart <= error)) {
				w->node[top[0]].tie = w->node[top[1]].tie = true;
				return;
			}
		}
		at = top[0];
		w->node[at].path = true;
	}
}

/* Whether the larger of two means is larger beyond their errors; without these, beyond a tie. */
static bool leads(const struct tree_node *a, const struct tree_node *b)
{
	double apart = a->value.v - b->value.v, error = hypot(a->error, b->error);

	return apart > TREE_TIE && (isnan(error) || apart > error);
}

void tree_path_of_means(const struct model *m, struct tree_node *node)
{
	uint32_t at = MODEL_NONE;

	for (uint32_t i = 0; i < m->n_metrics; i++)
		node[i].path = node[i].tie = false;
	for (uint32_t depth = 0; depth < m->n_metrics; depth++) {
		uint32_t best = MODEL_NONE, next = MODEL_NONE;

		for (uint32_t i = 0; i < m->n_metrics; i++) {
			const struct model_metric *x = &m->metric[i];

			if (x->parent != at || !tree_is_node(x) || x->overlap || !node[i].over)
				continue;
			if (best == MODEL_NONE || node[i].value.v > node[best].value.v) {
				next = best;
				best = i;
			} else if (next == MODEL_NONE || node[i].value.v > node[next].value.v) {
				next = i;
			}
		}
		if (best == MODEL_NONE)
			return;
		if (next != MODEL_NONE && !leads(&node[best], &node[next])) {
			node[best].tie = node[next].tie = true;
			return;
		}
		node[best].path = true;
		at = best;
	}
}
