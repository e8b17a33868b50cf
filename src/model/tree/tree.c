/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of tree_eval: needs, values, errors, doubts, thresholds, the path.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "model/tree/tree_int.h"

struct tree_maker {
	struct tree_work w;
	const bool *wanted;
	bool ready; /* the part that stays is made, for these: */
	double system[SYSTEM_COUNT];
	size_t n_lps;
};

struct want {
	struct tree_work *w;
	const double *system;
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

	if (m->expr && expr_needs(m->expr, want->system, want_ref, want))
		want->failed = true;
	if (m->threshold && expr_needs(m->threshold, want->system, want_ref, want))
		want->failed = true;
	/* a part is judged by its whole */
	if (m->parent != MODEL_NONE && !want->w->need[m->parent]) {
		want->w->need[m->parent] = true;
		want->grew = true;
	}
}

/* Adds the metrics that wanted metrics and their thresholds refer to, and so on. */
static int close_needs(struct tree_maker *k, struct err *err)
{
	struct tree_work *w = &k->w;
	struct want want = { .w = w, .system = k->system };

	want.asked = arena_alloc(&w->arena, w->m->n_metrics + 1);
	if (!want.asked)
		return err_nomem(err);
	for (size_t i = 0; i < w->m->n_metrics; i++)
		w->need[i] = !k->wanted || k->wanted[i];
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
		w->row[i] = (uint32_t)w->n_list;
		if (m->expr && expr_needs(m->expr, want.system, want_ref, &want))
			want.failed = true;
	}
	w->first[w->m->n_metrics] = (uint32_t)w->refs.n;
	return want.failed ? err_nomem(err) : 0;
}

static int list_tree_events(struct tree_work *w, struct err *err)
{
	w->event = arena_alloc(&w->arena, (w->m->n_used + 1) * sizeof(*w->event));
	if (!w->event)
		return err_nomem(err);
	for (size_t r = 0; r < w->refs.n; r++)
		if (w->refs.v[r].kind == EXPR_EVENT || w->refs.v[r].kind == EXPR_LATENCY)
			w->used[w->refs.v[r].index] = true;
	for (uint32_t e = 0; e < w->m->n_used; e++)
		if (w->used[e])
			w->event[w->n_events++] = e;
	return 0;
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

static struct tree_node no_node(uint32_t metric)
{
	return (struct tree_node){ .metric = metric,
				   .value = { NAN, VALUE_ABSENT, 0 },
				   .shown = NAN,
				   .error = NAN,
				   .open = NAN,
				   .open_error = NAN,
				   .counted = NAN,
				   .against = { MODEL_NONE, MODEL_NONE } };
}

/* Values from elsewhere, if formulas have none. Which these are: by metric, for fill_nodes(). */
static void take_given(struct tree_work *w)
{
	tree_each (w, i) {
		w->given[i] = w->c->given && w->value[i].why && !isnan(w->c->given[i]);
		if (w->given[i])
			w->value[i] = (struct value){ w->c->given[i], VALUE_OK, 0 };
	}
}

static void fill_nodes(struct tree_work *w)
{
	tree_each (w, i) {
		struct tree_node *n = &w->node[i];
		double one = 1;

		*n = no_node(i);
		n->value = w->value[i];
		n->counted = w->given[i] ? (double)NAN : counted_of(w, i);
		if (w->given[i])
			n->no_error = w->c->given_by[i];
		else if (n->value.why)
			n->no_error = "not measured";
		else
			n->error = tree_error_of(w, &i, &one, 1, &n->steps, &n->no_error);
	}
}

static void *tree_room(struct tree_work *w, size_t n, size_t size)
{
	return arena_alloc(&w->arena, n && size ? n * size : 1);
}

static int make_tree_room(struct tree_work *w, size_t n_lps, struct err *err)
{
	size_t n = w->m->n_metrics, events = w->m->n_used;

	w->node = tree_room(w, n, sizeof(*w->node));
	w->need = tree_room(w, n, sizeof(*w->need));
	w->list = tree_room(w, n, sizeof(*w->list));
	w->row = tree_room(w, n, sizeof(*w->row));
	w->passed = tree_room(w, n, sizeof(*w->passed));
	w->asks = tree_room(w, n, sizeof(*w->asks));
	w->by_level = tree_room(w, n, sizeof(*w->by_level));
	w->child = tree_room(w, n, sizeof(*w->child));
	w->kids = tree_room(w, n + 2, sizeof(*w->kids));
	w->reach = tree_room(w, 2 * events, sizeof(*w->reach));
	w->reached = tree_room(w, 2 * events, sizeof(*w->reached));
	w->used = tree_room(w, events, sizeof(*w->used));
	w->unsure = tree_room(w, n, sizeof(*w->unsure));
	w->bent = tree_room(w, n + n_lps, sizeof(*w->bent));
	w->why = tree_room(w, events, sizeof(*w->why));
	w->done = tree_room(w, events, sizeof(*w->done));
	w->given = tree_room(w, n, sizeof(*w->given));
	w->first = tree_room(w, n + 1, sizeof(*w->first));
	if (!w->node || !w->need || !w->list || !w->row || !w->passed || !w->asks || !w->by_level ||
	    !w->child || !w->kids || !w->reach || !w->reached || !w->used || !w->unsure ||
	    !w->bent || !w->why || !w->done || !w->first || !w->given)
		return err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		w->node[i] = no_node(i);
	return 0;
}

/* Formulas as steps, then thresholds, each with a stretch of its own. */
static int make_steps(struct tree_maker *k, struct err *err)
{
	struct tree_work *w = &k->w;
	static const bool varies[SYSTEM_COUNT] = { [SYSTEM_TSC] = true, [SYSTEM_DURATION] = true };
	const struct expr_steps_setup setup = { w->m->n_metrics, w->m->n_used, k->n_lps, k->system,
						varies };

	if (expr_steps_new(&w->steps, &w->arena, &setup, err))
		return -1;
	w->values = expr_steps_here(&w->steps);
	tree_each (w, i)
		if (w->m->metric[i].expr &&
		    expr_steps_add(&w->steps, w->m->metric[i].expr, i, &w->values, err))
			return -1;
	tree_each (w, i) {
		const struct expr *e = w->m->metric[i].threshold;
		struct expr_range *range = &w->passed[i_at];

		*range = expr_steps_here(&w->steps);
		if (e && expr_steps_add(&w->steps, e, (uint32_t)w->m->n_metrics + i, range, err))
			return -1;
		w->asks[i_at] = expr_steps_asks(&w->steps, *range);
	}
	w->value = expr_steps_values(&w->steps);
	w->passes = expr_steps_passes(&w->steps);
	return 0;
}

static uint32_t parent_place(const struct tree_work *w, uint32_t i)
{
	uint32_t parent = w->m->metric[i].parent;

	return parent == MODEL_NONE ? (uint32_t)w->m->n_metrics : parent;
}

/* Who is whose child, and the list by level. */
static void make_order(struct tree_work *w)
{
	uint32_t n = (uint32_t)w->m->n_metrics, sum = 0, at = 0;

	tree_each (w, i)
		w->kids[parent_place(w, i) + 1]++;
	for (uint32_t p = 0; p <= n; p++)
		w->kids[p] = sum += w->kids[p];
	w->kids[n + 1] = sum;
	tree_each (w, i)
		w->child[w->kids[parent_place(w, i)]++] = i;
	for (uint32_t p = n + 1; p > 0; p--)
		w->kids[p] = w->kids[p - 1];
	w->kids[0] = 0;
	for (unsigned level = 0; at < w->n_list; level++)
		tree_each (w, i)
			if (w->m->metric[i].level == level)
				w->by_level[at++] = i;
	assert(at == w->n_list && w->kids[n + 1] == w->n_list); /* each is somebody's child */
}

/* Facts that are the same in each interval: by them branches of formulas are ruled out. */
static void take_facts(double to[SYSTEM_COUNT], const double *system)
{
	for (int i = 0; i < SYSTEM_COUNT; i++)
		to[i] = system && i != SYSTEM_TSC && i != SYSTEM_DURATION ? system[i] : NAN;
}

static void forget_tree(struct tree_work *w)
{
	const struct model *m = w->m;

	vec_free(&w->refs);
	vec_free(&w->sources);
	vec_free(&w->gradient);
	vec_free(&w->slope);
	vec_free(&w->some);
	vec_free(&w->kept);
	expr_steps_free(&w->steps);
	arena_free(&w->arena);
	*w = (struct tree_work){ .m = m };
}

static bool still_ready(const struct tree_maker *k, const struct tree_counts *c)
{
	double system[SYSTEM_COUNT];

	take_facts(system, c->system);
	for (int i = 0; i < SYSTEM_COUNT && k->ready; i++)
		if (system[i] != k->system[i] && !(isnan(system[i]) && isnan(k->system[i])))
			return false;
	return k->ready && k->n_lps == c->n_lps;
}

static int make_ready(struct tree_maker *k, const struct tree_counts *c, struct err *err)
{
	if (still_ready(k, c))
		return 0;
	forget_tree(&k->w);
	k->ready = false;
	take_facts(k->system, c->system);
	k->n_lps = c->n_lps;
	if (make_tree_room(&k->w, k->n_lps, err) || close_needs(k, err) ||
	    list_tree_events(&k->w, err) || make_steps(k, err))
		return -1;
	make_order(&k->w);
	k->ready = true;
	return 0;
}

static void take_counts(struct tree_work *w, const struct tree_counts *c)
{
	w->c = c;
	expr_steps_take(&w->steps, c->count, c->latency, c->system);
	tree_each (w, i)
		w->passes[i] = (struct value){ NAN, VALUE_ABSENT, 0 };
}

int tree_maker_new(struct tree_maker **out, const struct model *m, const bool *wanted,
		   struct err *err)
{
	struct tree_maker *k = calloc(1, sizeof(*k));

	*out = k;
	if (!k)
		return err_nomem(err);
	k->w.m = m;
	k->wanted = wanted;
	return 0;
}

int tree_make(struct tree *out, struct tree_maker *k, const struct tree_counts *c, struct err *err)
{
	return tree_make_parts(out, k, c, NULL, 0, err);
}

/* For asserts: shares are shares, errors are not negative, and no value is no value in all ways. */
__attribute__((unused)) static bool tree_node_holds(const struct model *m,
						    const struct tree_node *node, size_t i)
{
	const struct tree_node *n = &node[i];

	if (n->error < 0 || n->unseen < 0 || !is_share_or_unknown(n->counted))
		return false;
	if (tree_is_node(&m->metric[i]) && !is_share_or_unknown(n->shown))
		return false;
	return isnan(n->shown) || !n->value.why;
}

int tree_make_parts(struct tree *out, struct tree_maker *k, const struct tree_counts *c,
		    const struct tree_part *part, size_t n, struct err *err)
{
	struct tree_work *w = &k->w;

	if (make_ready(k, c, err))
		return -1;
	take_counts(w, c);
	expr_steps_run(&w->steps, w->values);
	if (tree_sources(w, err) || tree_gradients(w, err))
		return -1;
	take_given(w);
	fill_nodes(w);
	tree_combine(w, part, n);
	tree_judge(w);
	tree_thresholds(w);
	tree_path(w);
	if (w->failed) {
		w->failed = k->ready = false;
		return err_nomem(err);
	}
	assert(all_hold(w->m->n_metrics, i, tree_node_holds(w->m, w->node, i)));
	out->model = w->m;
	out->node = w->node;
	out->n = w->m->n_metrics;
	out->list = w->list;
	out->n_list = w->n_list;
	out->dead = c->dead;
	out->wrong = c->wrong;
	return 0;
}

void tree_maker_free(struct tree_maker *k)
{
	if (!k)
		return;
	forget_tree(&k->w);
	free(k);
}

int tree_eval(struct tree *out, struct arena *a, const struct model *m, const struct tree_counts *c,
	      const bool *wanted, struct err *err)
{
	struct tree_maker *k;
	int rc = -1;

	if (tree_maker_new(&k, m, wanted, err))
		return -1;
	if (tree_make(out, k, c, err))
		goto out;
	out->node = arena_memdup(a, out->node, out->n * sizeof(*out->node));
	out->list = arena_memdup(a, out->list, out->n_list * sizeof(*out->list));
	rc = out->node && out->list ? 0 : err_nomem(err);
out:
	tree_maker_free(k);
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
	/* nodes below a closed node stay closed */
	for (size_t i = 0; i < t->n; i++)
		for (uint32_t p = t->model->metric[i].parent; open[i] && p != MODEL_NONE;
		     p = t->model->metric[p].parent)
			open[i] = open[p];
}
