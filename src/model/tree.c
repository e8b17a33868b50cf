/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of tree_eval: what is needed, values, errors, doubts, thresholds, the path.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/tree_int.h"

struct want {
	struct tree_work *w;
	bool failed, grew;
	bool *asked; /* by metric: its references are in `need` */
	bool record; /* keep the references of the metric at hand */
};

static int want_ref(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct want *want = ctx;
	struct tree_ref ref = { kind, index };

	if (kind == EXPR_METRIC && !want->w->need[index]) {
		want->w->need[index] = true;
		want->grew = true;
	}
	if (want->record && vec_push(&want->w->refs, ref)) {
		want->failed = true;
		return -1;
	}
	return 0;
}

static void want_of(struct want *want, uint32_t i)
{
	const struct model_metric *m = &want->w->m->metric[i];

	if (m->expr && expr_needs(m->expr, want->w->c->system, want_ref, want))
		want->failed = true;
	if (m->threshold && expr_needs(m->threshold, want->w->c->system, want_ref, want))
		want->failed = true;
	/* a part is judged by its whole */
	if (m->parent != MODEL_NONE && !want->w->need[m->parent]) {
		want->w->need[m->parent] = true;
		want->grew = true;
	}
}

/* What wanted metrics refer to, and their thresholds, and so on. */
static int close_needs(struct tree_work *w, const bool *wanted, struct err *err)
{
	struct want want = { .w = w, .asked = arena_alloc(w->scratch, w->m->n_metrics + 1) };

	if (!want.asked)
		return err_nomem(err);
	for (size_t i = 0; i < w->m->n_metrics; i++)
		w->need[i] = !wanted || wanted[i];
	do {
		want.grew = false;
		for (size_t i = w->m->n_metrics; i-- > 0;) {
			if (!w->need[i] || want.asked[i])
				continue;
			want.asked[i] = true;
			want_of(&want, (uint32_t)i);
		}
	} while (want.grew && !want.failed);
	want.record = true;
	for (uint32_t i = 0; i < w->m->n_metrics && !want.failed; i++) {
		const struct model_metric *m = &w->m->metric[i];

		w->first[i] = (uint32_t)w->refs.n;
		if (!w->need[i])
			continue;
		w->list[w->n_list++] = i;
		if (m->expr && expr_needs(m->expr, w->c->system, want_ref, &want))
			want.failed = true;
	}
	w->first[w->m->n_metrics] = (uint32_t)w->refs.n;
	return want.failed ? err_nomem(err) : 0;
}

void tree_values(struct tree_work *w)
{
	tree_each (w, i) {
		const struct model_metric *m = &w->m->metric[i];

		if (m->expr)
			w->value[i] = expr_eval(m->expr, &w->env);
	}
}

/* The least share of time that any event behind a metric was on a counter. */
static double counted_of(const struct tree_work *w, uint32_t metric)
{
	double least = NAN;

	for (uint32_t r = w->first[metric]; r < w->first[metric + 1]; r++) {
		const struct tree_ref *ref = &w->refs.v[r];
		double v = NAN;

		if (ref->kind == EXPR_EVENT && w->c->counted)
			v = w->c->counted[ref->index];
		else if (ref->kind == EXPR_METRIC)
			v = w->node[ref->index].counted;
		if (!isnan(v) && !(least <= v))
			least = v;
	}
	return least;
}

static void fill_nodes(struct tree_work *w)
{
	for (uint32_t i = 0; i < w->m->n_metrics; i++)
		w->node[i] = (struct tree_node){ .metric = i,
						 .value = w->value[i],
						 .shown = NAN,
						 .error = NAN,
						 .counted = NAN,
						 .against = { MODEL_NONE, MODEL_NONE } };
	tree_each (w, i) {
		struct tree_node *n = &w->node[i];
		double one = 1;

		n->counted = counted_of(w, i);
		if (n->value.why)
			n->no_error = "not measured";
		else
			n->error = tree_error_of(w, &i, &one, 1, &n->no_error);
	}
}

static void *room(struct arena *a, size_t n, size_t size)
{
	return arena_alloc(a, n && size ? n * size : 1);
}

static int prepare(struct tree_work *w, struct arena *a, struct arena *scratch, struct err *err)
{
	size_t n = w->m->n_metrics, cells = w->m->n_used * w->c->n_lps;

	w->node = room(a, n, sizeof(*w->node));
	w->value = room(scratch, n, sizeof(*w->value));
	w->passes = room(scratch, n, sizeof(*w->passes));
	w->need = room(scratch, n, sizeof(*w->need));
	w->list = room(scratch, n, sizeof(*w->list));
	w->touches = room(scratch, 2 * w->m->n_used, sizeof(*w->touches));
	w->none = room(scratch, n, sizeof(*w->none));
	w->scratch = scratch;
	w->unsure = room(scratch, n, sizeof(*w->unsure));
	w->bent = room(scratch, n, sizeof(*w->bent));
	w->first = room(scratch, n + 1, sizeof(*w->first));
	w->count = room(scratch, cells, sizeof(*w->count));
	w->latency = w->c->latency ? room(scratch, w->m->n_used, sizeof(double)) : NULL;
	if (!w->node || !w->value || !w->passes || !w->need || !w->list || !w->touches ||
	    !w->none || !w->bent || !w->unsure || !w->first || !w->count ||
	    (w->c->latency && !w->latency))
		return err_nomem(err);
	memcpy(w->count, w->c->count, cells * sizeof(*w->count));
	if (w->latency)
		memcpy(w->latency, w->c->latency, w->m->n_used * sizeof(double));
	for (size_t i = 0; i < n; i++)
		w->value[i] = w->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
	w->env = (struct expr_env){ .count = w->count,
				    .n_lps = w->c->n_lps,
				    .metric = w->value,
				    .latency = w->latency,
				    .system = w->c->system,
				    .passes = w->passes };
	return 0;
}

int tree_eval(struct tree *out, struct arena *a, const struct model *m, const struct tree_counts *c,
	      const bool *wanted, struct err *err)
{
	struct arena scratch = ARENA_INIT;
	struct tree_work w = { .m = m, .c = c };
	int rc = -1;

	if (prepare(&w, a, &scratch, err) || close_needs(&w, wanted, err))
		goto out;
	tree_values(&w);
	if (tree_sources(&w, err))
		goto out;
	w.gradient = room(&scratch, (w.n_list + 1) * w.sources.n, sizeof(double));
	w.row = room(&scratch, m->n_metrics, sizeof(*w.row));
	w.slope = room(&scratch, w.sources.n, sizeof(double));
	w.straight = arena_memdup(&scratch, w.value, m->n_metrics * sizeof(*w.value));
	if (!w.gradient || !w.row || !w.slope || !w.straight) {
		err_nomem(err);
		goto out;
	}
	for (uint32_t k = 0; k < w.n_list; k++)
		w.row[w.list[k]] = k + 1;
	tree_gradients(&w);
	fill_nodes(&w);
	tree_judge(&w);
	tree_thresholds(&w);
	tree_path(&w);
	if (w.failed) {
		err_nomem(err);
		goto out;
	}
	out->model = m;
	out->node = w.node;
	out->n = m->n_metrics;
	rc = 0;
out:
	vec_free(&w.refs);
	vec_free(&w.sources);
	arena_free(&scratch);
	return rc;
}

void tree_open(const struct tree *t, bool *open)
{
	memset(open, 0, t->n * sizeof(*open));
	for (size_t i = 0; i < t->n; i++) {
		uint32_t parent = t->model->metric[i].parent;

		if (tree_is_node(&t->model->metric[i]) && parent != MODEL_NONE)
			open[parent] = t->node[parent].maybe;
	}
	/* what hangs under a node that is closed is not looked at */
	for (size_t i = 0; i < t->n; i++)
		for (uint32_t p = t->model->metric[i].parent; open[i] && p != MODEL_NONE;
		     p = t->model->metric[p].parent)
			open[i] = open[p];
}
