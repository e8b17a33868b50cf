/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error bars of metrics: how they change with inexact counts and latencies.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/estimate.h"
#include "model/tree/tree_int.h"

const char tree_no_latency[] = "a latency is the model's mean, not measured here";

static double sources_sum_of(const struct tree_work *w, uint32_t event)
{
	const double *c = w->c->count + (size_t)event * w->c->n_lps;
	double sum = 0;

	for (size_t i = 0; i < w->c->n_lps; i++)
		if (!isnan(c[i]))
			sum += c[i];
	return sum;
}

static size_t members(const struct tree_counts *c, size_t group)
{
	return c->first[group + 1] - c->first[group];
}

static int add_source(struct tree_work *w, struct tree_source s, struct err *err)
{
	if (!(s.se > 0) && !(s.quantum > 0))
		return 0;
	return vec_push(&w->sources, s) ? err_nomem(err) : 0;
}

static double quantum_of(const struct tree_counts *c, uint32_t event)
{
	return c->quantum && c->quantum[event] > 0 ? c->quantum[event] : 0;
}

static int group_sources(struct tree_work *w, uint32_t g, struct err *err)
{
	const struct tree_counts *c = w->c;
	size_t k = members(c, g);

	for (uint32_t i = 0; i < k; i++) {
		uint32_t event = c->member[c->first[g] + i];
		double var = c->cov && c->cov[g] ? c->cov[g][i * k + i] : 0;
		struct tree_source s = { EXPR_EVENT,	      event, g, i, var > 0 ? sqrt(var) : 0,
					 quantum_of(c, event) };

		w->done[event] = true;
		if (w->used[event] && add_source(w, s, err))
			return -1;
	}
	return 0;
}

static bool latency_unsure(const struct tree_counts *c, uint32_t event)
{
	return c->latency && c->latency_se && !isnan(c->latency[event]) &&
	       isnan(c->latency_se[event]);
}

/* Metrics that rest on a group of which the errors are not known. */
static void find_unsure(struct tree_work *w)
{
	const struct tree_counts *c = w->c;

	memset(w->why, 0, w->m->n_used * sizeof(*w->why));
	for (size_t g = 0; g < c->n_groups && c->no_error; g++)
		for (uint32_t k = c->first[g]; k < c->first[g + 1]; k++)
			w->why[c->member[k]] = c->no_error[g];
	tree_each (w, i) {
		w->unsure[i] = NULL;
		for (uint32_t r = w->first[i]; r < w->first[i + 1] && !w->unsure[i]; r++) {
			const struct tree_ref *ref = &w->refs.v[r];

			if (ref->kind == EXPR_METRIC)
				w->unsure[i] = w->unsure[ref->index];
			else if (ref->kind == EXPR_EVENT)
				w->unsure[i] = w->why[ref->index];
			else if (latency_unsure(c, ref->index))
				w->unsure[i] = tree_no_latency;
		}
	}
}

/* Events that nothing asks for bend nothing. */
int tree_sources(struct tree_work *w, struct err *err)
{
	const struct tree_counts *c = w->c;
	int rc = 0;

	w->sources.n = 0;
	memset(w->done, 0, w->m->n_used);
	find_unsure(w);
	for (uint32_t g = 0; g < c->n_groups && !rc; g++)
		rc = group_sources(w, g, err);
	for (size_t i = 0; i < w->n_events && !rc; i++) {
		uint32_t e = w->event[i];
		struct tree_source q = { EXPR_EVENT, e, MODEL_NONE, 0, 0, 0 };
		struct tree_source l = { EXPR_LATENCY, e, MODEL_NONE, 0, 0, 0 };

		if (c->latency && c->latency_se && !isnan(c->latency[e])) {
			l.se = latency_unsure(c, e) ? 0 : c->latency_se[e];
			rc = add_source(w, l, err);
		}
		if (rc || w->done[e])
			continue;
		q.quantum = quantum_of(c, e);
		rc = add_source(w, q, err);
	}
	return rc;
}

/* The steps that change with it, found once for each. Out of memory: none; tree_make fails. */
static const struct expr_reach *reach_of(struct tree_work *w, enum expr_ref_kind kind,
					 uint32_t index)
{
	size_t at = (kind == EXPR_LATENCY ? w->m->n_used : 0) + index;
	struct expr_reach *r = &w->reach[at];

	if (!w->reached[at]) {
		w->reached[at] = !expr_steps_reach(&w->steps, w->values, kind, index, r);
		w->failed |= !w->reached[at];
	}
	if (w->failed || vec_reserve(&w->kept, r->n)) {
		w->failed = true;
		r->n = r->n_metrics = 0;
	}
	return r;
}

/* An event's counts change in proportion on all logical processors. */
static void bend(struct tree_work *w, enum expr_ref_kind kind, uint32_t index, double by)
{
	size_t n = w->c->n_lps;
	const double *from = w->c->count + (size_t)index * n;
	double *to = w->bent + w->m->n_metrics, sum, times;
	bool first = true;

	if (kind == EXPR_LATENCY) {
		expr_steps_latency(&w->steps, index, w->c->latency[index] + by);
		return;
	}
	sum = sources_sum_of(w, index);
	times = 1 + by / sum;
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		if (isnan(from[i]))
			continue;
		if (sum > 0)
			to[i] *= times;
		else if (first)
			to[i] += by;
		first = false;
	}
	expr_steps_event(&w->steps, index, to);
}

/* Values of the metrics that depend on a source when it is changed by so much; NAN if they have no
 * value then. The caller restores them. */
static void bent_values(struct tree_work *w, const struct tree_source *s,
			const struct expr_reach *r, double by)
{
	bend(w, s->kind, s->index, by);
	expr_steps_again(&w->steps, r);
	for (size_t k = 0; k < r->n_metrics; k++)
		w->bent[r->metric[k]] = w->value[r->metric[k]].v;
}

static void keep_values(struct tree_work *w, const struct expr_reach *r)
{
	expr_steps_keep(&w->steps, r, w->kept.v);
}

static void bring_values(struct tree_work *w, const struct tree_source *s,
			 const struct expr_reach *r)
{
	if (s->kind == EXPR_LATENCY)
		expr_steps_latency(&w->steps, s->index, w->c->latency[s->index]);
	else
		expr_steps_event(&w->steps, s->index, w->c->count + (size_t)s->index * w->c->n_lps);
	expr_steps_bring(&w->steps, r, w->kept.v);
}

static double width(const struct tree_work *w, const struct tree_source *s)
{
	double now =
		s->kind == EXPR_LATENCY ? w->c->latency[s->index] : sources_sum_of(w, s->index);
	double h = s->se > s->quantum ? s->se : s->quantum;

	/* no farther than half the way to 0 */
	return now > 0 && h > now / 2 ? now / 2 : h;
}

static double slope(double down, double mid, double up, double h)
{
	if (!isnan(up) && !isnan(down))
		return (up - down) / (2 * h);
	if (!isnan(up))
		return (up - mid) / h;
	return (mid - down) / h;
}

int tree_gradients(struct tree_work *w, struct err *err)
{
	size_t n = w->sources.n, cells = (w->n_list + 1) * n;

	if (vec_reserve(&w->gradient, cells + 1) || vec_reserve(&w->slope, n + 1) ||
	    vec_reserve(&w->some, n + 1))
		return err_nomem(err);
	memset(w->gradient.v, 0, cells * sizeof(double));
	for (size_t s = 0; s < n; s++) {
		const struct tree_source *src = &w->sources.v[s];
		const struct expr_reach *r = reach_of(w, src->kind, src->index);
		double h = width(w, src);

		keep_values(w, r);
		bent_values(w, src, r, h);
		for (size_t k = 0; k < r->n_metrics; k++)
			w->gradient.v[w->row[r->metric[k]] * n + s] = w->bent[r->metric[k]];
		bent_values(w, src, r, -h);
		bring_values(w, src, r);
		for (size_t k = 0; k < r->n_metrics; k++) {
			uint32_t i = r->metric[k];
			double *g = &w->gradient.v[w->row[i] * n + s];

			*g = slope(w->bent[i], w->value[i].v, *g, h);
		}
	}
	return 0;
}

/* By source, how the sum changes with it. */
static void add_slopes(const struct tree_work *w, const uint32_t *metric, const double *by,
		       size_t n)
{
	size_t n_src = w->sources.n;
	double *to = w->slope.v;

	for (size_t i = 0; i < n; i++) {
		const double *g = &w->gradient.v[w->row[metric[i]] * n_src];

		for (size_t s = 0; s < n_src; s++)
			to[s] = (i ? to[s] : 0) + by[i] * g[s];
	}
}

double tree_error_of(const struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		     double *of_steps, const char **why)
{
	const struct tree_source *src = w->sources.v;
	size_t n_src = w->sources.n, n_some = 0;
	uint32_t *some = w->some.v; /* the few that it depends on */
	double *slopes = w->slope.v, var = 0, steps = 0;

	for (size_t i = 0; i < n; i++)
		if ((*why = w->unsure[metric[i]]))
			return NAN;
	add_slopes(w, metric, by, n);
	for (uint32_t s = 0; s < n_src; s++) {
		double g = slopes[s];

		if (g == 0)
			continue;
		if (isnan(g)) {
			*why = "the formula has no value within the error of its counts";
			return NAN;
		}
		slopes[n_some] = g;
		some[n_some++] = s;
		steps += pow(g * src[s].quantum, 2);
		if (src[s].group == MODEL_NONE)
			var += pow(g * src[s].se, 2);
	}
	for (size_t a = 0; a < n_some; a++) {
		const struct tree_source *x = &src[some[a]];
		const double *cov =
			x->group != MODEL_NONE && w->c->cov ? w->c->cov[x->group] : NULL;
		const double twice = 2 * slopes[a];

		if (!cov)
			continue;
		cov += x->pos * members(w->c, x->group);
		var += slopes[a] * slopes[a] * cov[x->pos];
		/* the sources of a group are neighbours */
		for (size_t b = a + 1; b < n_some && src[some[b]].group == x->group; b++)
			var += twice * slopes[b] * cov[src[some[b]].pos];
	}
	if (of_steps)
		*of_steps = sqrt(steps);
	return sqrt(Z95 * Z95 * (var > 0 ? var : 0) + steps);
}

static bool reaches_any(const struct expr_reach *t, const uint32_t *metric, size_t n)
{
	for (size_t k = 0; k < t->n_metrics; k++)
		for (size_t i = 0; i < n; i++)
			if (t->metric[k] == metric[i])
				return true;
	return false;
}

double tree_pull(struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		 uint32_t event)
{
	struct tree_source s = { EXPR_EVENT, event, MODEL_NONE, 0, 0, 0 };
	double sum = sources_sum_of(w, event), pull = 0;
	const struct expr_reach *r;

	if (!(sum > 0))
		return 0;
	r = reach_of(w, EXPR_EVENT, event);
	if (!reaches_any(r, metric, n))
		return 0;
	keep_values(w, r);
	bent_values(w, &s, r, sum * 1e-3);
	bring_values(w, &s, r);
	for (size_t i = 0; i < n; i++)
		if (reaches_any(r, &metric[i], 1) && !isnan(w->bent[metric[i]]))
			pull += by[i] * (w->bent[metric[i]] - w->value[metric[i]].v);
	return pull * 1e3;
}
