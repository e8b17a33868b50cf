/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far metrics can be off, by how they change with what is not known exactly.
 */
#include <math.h>
#include <string.h>

#include "model/tree_int.h"

#define Z95 1.959964

static double sum_of(const struct tree_work *w, uint32_t event)
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

static int group_sources(struct tree_work *w, uint32_t g, bool *done, struct err *err)
{
	const struct tree_counts *c = w->c;
	size_t k = members(c, g);

	for (uint32_t i = 0; i < k; i++) {
		uint32_t event = c->member[c->first[g] + i];
		double var = c->cov && c->cov[g] ? c->cov[g][i * k + i] : 0;
		struct tree_source s = { EXPR_EVENT,	      event, g, i, var > 0 ? sqrt(var) : 0,
					 quantum_of(c, event) };

		done[event] = true;
		if (add_source(w, s, err))
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
static int find_unsure(struct tree_work *w, struct err *err)
{
	const struct tree_counts *c = w->c;
	struct arena scratch = ARENA_INIT;
	const char **event = arena_alloc(&scratch, (w->m->n_used + 1) * sizeof(*event));
	int rc = event ? 0 : err_nomem(err);

	for (size_t g = 0; g < c->n_groups && c->no_error && event; g++)
		for (uint32_t k = c->first[g]; k < c->first[g + 1]; k++)
			event[c->member[k]] = c->no_error[g];
	for (size_t k = 0; k < w->n_list && event; k++) {
		uint32_t i = w->list[k];

		for (uint32_t r = w->first[i]; r < w->first[i + 1] && !w->unsure[i]; r++) {
			const struct tree_ref *ref = &w->refs.v[r];

			if (ref->kind == EXPR_METRIC)
				w->unsure[i] = w->unsure[ref->index];
			else if (ref->kind == EXPR_EVENT)
				w->unsure[i] = event[ref->index];
			else if (latency_unsure(c, ref->index))
				w->unsure[i] = "a latency is the model's mean, not measured here";
		}
	}
	arena_free(&scratch);
	return rc;
}

int tree_sources(struct tree_work *w, struct err *err)
{
	const struct tree_counts *c = w->c;
	struct arena scratch = ARENA_INIT;
	bool *done = arena_alloc(&scratch, w->m->n_used + 1);
	int rc = done ? find_unsure(w, err) : err_nomem(err);

	for (uint32_t g = 0; g < c->n_groups && !rc; g++)
		rc = group_sources(w, g, done, err);
	for (uint32_t e = 0; e < w->m->n_used && !rc; e++) {
		struct tree_source q = { EXPR_EVENT, e, MODEL_NONE, 0, 0, 0 };
		struct tree_source l = { EXPR_LATENCY, e, MODEL_NONE, 0, 0, 0 };

		if (c->latency && c->latency_se && !isnan(c->latency[e])) {
			l.se = latency_unsure(c, e) ? 0 : c->latency_se[e];
			rc = add_source(w, l, err);
		}
		if (rc || done[e])
			continue;
		q.quantum = quantum_of(c, e);
		rc = add_source(w, q, err);
	}
	arena_free(&scratch);
	return rc;
}

/* Which metrics change with it; told once for each. Out of memory: none, which tree_eval tells. */
static void touch(struct tree_work *w, enum expr_ref_kind kind, uint32_t index)
{
	bool **row = &w->touches[(kind == EXPR_LATENCY ? w->m->n_used : 0) + index], *t = *row;

	w->touched = t ? t : arena_alloc(w->scratch, w->m->n_metrics + 1);
	if (!w->touched) {
		w->failed = true;
		w->touched = w->none;
		return;
	}
	*row = w->touched;
	for (size_t k = 0; k < w->n_list && !t; k++) {
		uint32_t i = w->list[k];

		for (uint32_t r = w->first[i]; r < w->first[i + 1] && !w->touched[i]; r++) {
			const struct tree_ref *ref = &w->refs.v[r];

			w->touched[i] = ref->kind == EXPR_METRIC
						? w->touched[ref->index]
						: ref->kind == kind && ref->index == index;
		}
	}
}

static void bend(struct tree_work *w, enum expr_ref_kind kind, uint32_t index, double by)
{
	size_t n = w->c->n_lps;
	const double *from = w->c->count + (size_t)index * n;
	double *to = w->count + (size_t)index * n, sum = sum_of(w, index);
	bool first = true;

	if (kind == EXPR_LATENCY) {
		w->latency[index] = w->c->latency[index] + by;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		if (isnan(from[i]))
			continue;
		if (sum > 0)
			to[i] *= 1 + by / sum;
		else if (first)
			to[i] += by;
		first = false;
	}
}

/* What metrics that depend on it are when it is bent by so much; NAN where they have no value then.
 * Values are afterwards as they were. */
static void bent_values(struct tree_work *w, const struct tree_source *s, double by)
{
	bend(w, s->kind, s->index, by);
	tree_each (w, i) {
		if (!w->touched[i])
			continue;
		w->value[i] = expr_eval(w->m->metric[i].expr, &w->env);
		w->bent[i] = w->value[i].v;
	}
	bend(w, s->kind, s->index, 0);
	tree_each (w, i)
		if (w->touched[i])
			w->value[i] = w->straight[i];
}

static double width(const struct tree_work *w, const struct tree_source *s)
{
	double now = s->kind == EXPR_LATENCY ? w->c->latency[s->index] : sum_of(w, s->index);
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

void tree_gradients(struct tree_work *w)
{
	size_t n = w->sources.n;

	for (size_t s = 0; s < n; s++) {
		const struct tree_source *src = &w->sources.v[s];
		double h = width(w, src);

		touch(w, src->kind, src->index);
		bent_values(w, src, h);
		tree_each (w, i)
			w->gradient[w->row[i] * n + s] = w->touched[i] ? w->bent[i] : 0;
		bent_values(w, src, -h);
		tree_each (w, i) {
			double *g = &w->gradient[w->row[i] * n + s];

			if (w->touched[i])
				*g = slope(w->bent[i], w->value[i].v, *g, h);
		}
	}
}

double tree_error_of(const struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		     const char **why)
{
	const struct tree_source *src = w->sources.v;
	size_t n_src = w->sources.n;
	double var = 0, steps = 0;

	for (size_t i = 0; i < n; i++)
		if ((*why = w->unsure[metric[i]]))
			return NAN;
	for (size_t s = 0; s < n_src; s++) {
		w->slope[s] = 0;
		for (size_t i = 0; i < n; i++)
			w->slope[s] += by[i] * w->gradient[w->row[metric[i]] * n_src + s];
		if (isnan(w->slope[s])) {
			*why = "the formula has no value within the error of its counts";
			return NAN;
		}
		steps += pow(w->slope[s] * src[s].quantum, 2);
		if (src[s].group == MODEL_NONE)
			var += pow(w->slope[s] * src[s].se, 2);
	}
	/* the sources of a group are neighbours */
	for (size_t a = 0; a < n_src; a++) {
		uint32_t g = w->slope[a] != 0 ? src[a].group : MODEL_NONE;
		const double *cov = g != MODEL_NONE && w->c->cov ? w->c->cov[g] : NULL;
		size_t k = cov ? members(w->c, g) : 0;

		for (size_t b = a; cov && b < n_src && src[b].group == g; b++)
			var += (a == b ? 1 : 2) * w->slope[a] * w->slope[b] *
			       cov[src[a].pos * k + src[b].pos];
	}
	return sqrt(Z95 * Z95 * (var > 0 ? var : 0) + steps);
}

double tree_pull(struct tree_work *w, const uint32_t *metric, const double *by, size_t n,
		 uint32_t event)
{
	struct tree_source s = { EXPR_EVENT, event, MODEL_NONE, 0, 0, 0 };
	double sum = sum_of(w, event), pull = 0;
	bool any = false;

	if (!(sum > 0))
		return 0;
	touch(w, EXPR_EVENT, event);
	for (size_t i = 0; i < n && !any; i++)
		any = w->touched[metric[i]];
	if (!any)
		return 0;
	bent_values(w, &s, sum * 1e-3);
	for (size_t i = 0; i < n; i++)
		if (w->touched[metric[i]] && !isnan(w->bent[metric[i]]))
			pull += by[i] * (w->bent[metric[i]] - w->value[metric[i]].v);
	return pull * 1e3;
}
