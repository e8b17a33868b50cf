/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/tree_repeats.h"

#include <math.h>
#include <stdlib.h>

/* ---- a run ------------------------------------------------------------------------------ */

static void add_rate(struct tree_repeats_node *r, const struct tree_rate *x)
{
	repeat_add(&r->value, x->value);
	repeat_add(&r->unseen, isnan(x->value) ? (double)NAN : x->unseen);
	repeat_add(&r->own, pow(x->error - x->unseen, 2));
}

static int open_parts(struct tree_repeats *r, const struct drill *d, struct err *err)
{
	r->part = calloc(d->n_parts + 1, sizeof(*r->part));
	if (!r->part)
		return err_nomem(err);
	r->n_parts = d->n_parts;
	for (size_t i = 0; i < d->n_parts; i++) {
		r->part[i].n = d->part[i].tree.n;
		r->part[i].node = calloc(r->part[i].n + 1, sizeof(*r->part[i].node));
		if (!r->part[i].node)
			return err_nomem(err);
	}
	return 0;
}

static bool is_node_known(const struct tree_node *n)
{
	return n->value.why == VALUE_OK && n->doubt == DOUBT_NONE;
}

static void add_run_part(struct tree_repeats_part *r, const struct drill_part *p)
{
	for (size_t m = 0; m < p->tree.n && m < r->n; m++) {
		const struct tree_node *n = &p->tree.node[m];
		bool known = is_node_known(n);

		repeat_add(&r->node[m].value, known ? n->value.v : NAN);
		repeat_add(&r->node[m].unseen, known ? n->unseen : NAN);
		r->node[m].over += known && n->over;
		if (!known || isnan(n->error))
			continue;
		repeat_add(&r->node[m].steps, n->steps);
		repeat_add(
			&r->node[m].own,
			fmax(n->error * n->error - n->unseen * n->unseen - n->steps * n->steps, 0));
	}
	add_rate(&r->ipc, &p->rates.ipc);
	add_rate(&r->frequency, &p->rates.frequency);
}

/* The metrics of a tree that are wanted. */
static int keep_part(struct tree_repeats *r, const struct drill *d, const struct drill_part *p,
		     struct arena *copy, struct err *err)
{
	const struct plan *plan = &d->core[p->core].plan;

	for (size_t m = 0; m < p->tree.n; m++) {
		const struct tree_node *n = &p->tree.node[m];
		const struct model_metric *x = &p->tree.model->metric[m];
		struct count_repeat row = { .where = p->label,
					    .name = x->path,
					    .unit = x->level ? "" : x->unit,
					    .value = NAN };

		if (plan->wanted && !plan->wanted[m])
			continue;
		if (is_node_known(n))
			row.value = n->shown * (x->level ? 1 : x->scale);
		if (copy) {
			row.where = p->label ? arena_strdup(copy, p->label) : NULL;
			row.name = arena_strdup(copy, x->path);
			row.unit = arena_strdup(copy, row.unit);
			if (!row.name || !row.unit || (p->label && !row.where))
				return err_nomem(err);
		}
		if (count_runs_add(&r->each, &row, err))
			return -1;
	}
	return 0;
}

int tree_repeats_add(struct tree_repeats *r, const struct counting_result *run,
		     const struct drill *d, bool keep, struct arena *copy, struct err *err)
{
	if (d && !r->part && open_parts(r, d, err))
		return -1;
	for (size_t i = 0; d && i < d->n_parts && i < r->n_parts; i++)
		add_run_part(&r->part[i], &d->part[i]);
	repeat_add(&r->seconds, run->wall_s);
	repeat_add(&r->user, run->user_s);
	repeat_add(&r->sys, run->sys_s);
	if (!keep)
		return 0;
	if (count_runs_begin(&r->each, run, err))
		return -1;
	for (size_t i = 0; d && i < d->n_parts; i++)
		if (keep_part(r, d, &d->part[i], copy, err))
			return -1;
	return 0;
}

/* ---- means ------------------------------------------------------------------------------ */

/* Time that no run observed does not shrink with their number: in time that was not seen, and in
 * runs that did not open it, a node has between nothing and its parent's value. */
static double unseen_of(const struct tree_repeats_part *p, const struct drill *d,
			const struct model *m, size_t i)
{
	const struct tree_repeats_node *r = &p->node[i];
	const uint32_t parent = m->metric[i].parent;
	double mean = repeat_mean(&r->value), seen = 1, most = 1;

	if (!m->metric[i].level || d->mode != DRILL_LIVE)
		return 0;
	if (parent != MODEL_NONE && p->node[parent].value.n) {
		seen = (double)r->value.n / (double)p->node[parent].value.n;
		most = repeat_mean(&p->node[parent].value);
	}
	seen = fmin(seen, 1);
	return seen * repeat_mean(&r->unseen) + (1 - seen) * fmax(mean, most - mean);
}

/* Runs that have it are not a sample of all: each must. */
static void mean_of_rate(struct tree_rate *out, const struct tree_repeats_node *r, size_t runs)
{
	if (r->value.n < runs) {
		*out = (struct tree_rate){ .value = NAN, .error = NAN, .counted = NAN };
		out->why = r->value.n ? "not every run has it" : "no run has it";
		return;
	}
	out->value = repeat_mean(&r->value);
	out->unseen = repeat_mean(&r->unseen);
	out->error = repeat_error_with(&r->value, &r->own) + out->unseen;
	out->no_error = r->value.n > 1 ? NULL : "one run alone has it";
}

static int mean_of_part(const struct tree_repeats_part *r, const struct drill *d, struct tree *t,
			struct arena *a, struct err *err)
{
	struct tree_node *node = arena_memdup(a, t->node, t->n * sizeof(*node));

	if (!node)
		return err_nomem(err);
	for (size_t m = 0; m < t->n && m < r->n; m++) {
		const struct repeat *x = &r->node[m].value, *steps = &r->node[m].steps;

		if (!x->n)
			continue;
		node[m].value = (struct value){ .v = repeat_mean(x), .why = VALUE_OK };
		node[m].doubt = DOUBT_NONE;
		node[m].over = 2 * r->node[m].over > x->n; /* in most runs */
		node[m].shown = tree_shown(&t->model->metric[m], repeat_mean(x));
		node[m].unseen = unseen_of(r, d, t->model, m);
		node[m].steps = steps->n ? repeat_mean(steps) : 0;
		node[m].error = hypot(repeat_error_with(x, &r->node[m].own),
				      hypot(node[m].unseen, node[m].steps));
		node[m].open = NAN; /* of one run alone */
		node[m].no_error = x->n > 1 ? NULL : "one run alone has it";
	}
	tree_judge_means(t->model, node);
	t->node = node;
	return 0;
}

int tree_repeats_mean(const struct tree_repeats *r, struct drill *d, struct arena *a,
		      struct err *err)
{
	for (size_t i = 0; i < d->n_parts && i < r->n_parts; i++) {
		struct tree_rates *rates = &d->part[i].rates;

		if (mean_of_part(&r->part[i], d, &d->part[i].tree, a, err))
			return -1;
		mean_of_rate(&rates->ipc, &r->part[i].ipc, r->seconds.n);
		mean_of_rate(&rates->frequency, &r->part[i].frequency, r->seconds.n);
	}
	return 0;
}

void tree_repeats_put(const struct tree_repeats *r, bool cut_short, struct count_head *h)
{
	if (r->seconds.n > 1 || cut_short) {
		h->runs = r->seconds.n;
		h->seconds = repeat_mean(&r->seconds);
		h->seconds_error = repeat_error(&r->seconds);
	}
	h->user_s = repeat_mean(&r->user);
	h->sys_s = repeat_mean(&r->sys);
	count_runs_put(&r->each, h);
}

void tree_repeats_free(struct tree_repeats *r)
{
	for (size_t i = 0; i < r->n_parts; i++)
		free(r->part[i].node);
	free(r->part);
	count_runs_free(&r->each);
}
