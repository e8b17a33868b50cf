/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_sum - ties of edges to calls, summed by caller and callee; functions in order. */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/calls_int.h"
#include "base/invariant.h"

uint32_t calls_number(struct calls_sum *s, const struct calls_place *p)
{
	/* one more than the index, so that the image as a whole is 0 */
	uint64_t key = (uint64_t)p->image << 32 | (p->symbol ? p->symbol->index + 1 : 0);
	bool fresh;
	uint64_t *at = u64map_at(&s->by_place, key, &fresh);

	if (!at)
		return UINT32_MAX;
	if (fresh) {
		*at = s->place.n;
		if (vec_push(&s->place, *p))
			return UINT32_MAX;
	}
	return (uint32_t)*at;
}

void calls_sum_free(struct calls_sum *s)
{
	vec_free(&s->place);
	vec_free(&s->tie);
	u64map_free(&s->by_place);
}

static int by_call(const void *pa, const void *pb)
{
	const struct calls_tie *a = pa, *b = pb;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	if (a->tail != b->tail)
		return a->tail ? 1 : -1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

static void branch_tally_add(struct branch_tally *t, const struct branch_tally *more)
{
	t->mispredicted += more->mispredicted;
	t->predicted += more->predicted;
	t->in_tx += more->in_tx;
	t->aborts += more->aborts;
	t->cycles += more->cycles;
	t->timed += more->timed;
}

static void groups_add(double *to, const double *from, double times)
{
	for (unsigned g = 0; g < FLOW_SLOTS; g++)
		to[g] += from[g] * times;
}

/* The ties of one caller, callee and kind. */
static void fill_edge(struct call_edge *e, const struct calls_work *w, const struct calls_tie *t,
		      size_t n, double scale)
{
	*e = (struct call_edge){ .caller = t->caller, .callee = t->callee, .tail = t->tail };
	for (size_t i = 0; i < n; i++) {
		const struct flow_edge *from = &w->edge[t[i].edge];

		groups_add(e->group, from->w.group, scale);
		branch_tally_add(&e->tally, &from->tally);
		e->hits += from->w.hits;
		e->sites += !i || t[i].site != t[i - 1].site;
		e->plt |= t[i].plt;
		e->indirect += t[i].indirect ? from->w.hits : 0;
	}
	e->runs = flow_total(e->group);
}

static int fill_edges(struct calls *out, const struct calls_work *w, struct calls_sum *s)
{
	const struct calls_tie *t = s->tie.v;
	size_t end;

	vec_sort(&s->tie, by_call);
	out->edge = malloc((s->tie.n + 1) * sizeof(*out->edge));
	if (!out->edge)
		return -1;
	for (size_t i = 0; i < s->tie.n; i = end) {
		for (end = i + 1; end < s->tie.n && t[end].caller == t[i].caller &&
				  t[end].callee == t[i].callee && t[end].tail == t[i].tail;
		     end++)
			;
		fill_edge(&out->edge[out->n_edges++], w, &t[i], end - i, out->scale);
	}
	return 0;
}

/* Sums by group, which become values when all is in. */
struct totals {
	double called[FLOW_SLOTS], recursive[FLOW_SLOTS], tailed[FLOW_SLOTS], calls[FLOW_SLOTS];
};

struct order { /* of functions: most called first */
	double v;
	uint32_t at;
};

static int most_called(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	if (a->v != b->v)
		return a->v < b->v ? 1 : -1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void sum_functions(struct calls *out, struct totals *t)
{
	for (size_t i = 0; i < out->n_edges; i++) {
		const struct call_edge *e = &out->edge[i];

		groups_add(e->tail ? t[e->callee].tailed : t[e->callee].called, e->group, 1);
		if (e->tail)
			continue;
		groups_add(t[e->caller].calls, e->group, 1);
		if (e->caller == e->callee)
			groups_add(t[e->callee].recursive, e->group, 1);
		groups_add(out->group, e->group, 1);
		out->hits += e->hits;
	}
	out->runs = flow_total(out->group);
}

static int fill_functions(struct calls *out, const struct calls_sum *s)
{
	size_t n = s->place.n;
	struct totals *t = calloc(n + 1, sizeof(*t));
	struct order *order = malloc((n + 1) * sizeof(*order));
	uint32_t *now = malloc((n + 1) * sizeof(*now));
	int ret = -1;

	out->f = calloc(n + 1, sizeof(*out->f));
	if (!t || !order || !now || !out->f)
		goto out;
	sum_functions(out, t);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct order){ flow_total(t[i].called).v + flow_total(t[i].tailed).v,
					   (uint32_t)i };
	qsort(order, n, sizeof(*order), most_called);
	for (size_t i = 0; i < n; i++) {
		const struct calls_place *p = &s->place.v[order[i].at];
		const struct totals *sums = &t[order[i].at];

		now[order[i].at] = (uint32_t)i;
		out->f[i] = (struct call_function){ .image = p->image,
						    .symbol = p->symbol,
						    .kind = p->kind,
						    .called = flow_total(sums->called),
						    .recursive = flow_total(sums->recursive),
						    .tailed = flow_total(sums->tailed),
						    .calls = flow_total(sums->calls) };
	}
	out->n = n;
	for (size_t i = 0; i < out->n_edges; i++) {
		out->edge[i].caller = now[out->edge[i].caller];
		out->edge[i].callee = now[out->edge[i].callee];
		assert(out->edge[i].caller < n && out->edge[i].callee < n);
	}
	ret = 0;
out:
	free(t);
	free(order);
	free(now);
	return ret;
}

static int heavier(const struct call_edge *a, const struct call_edge *b)
{
	if (a->runs.v != b->runs.v)
		return a->runs.v < b->runs.v ? 1 : -1;
	return a->tail != b->tail ? (a->tail ? 1 : -1) : 0;
}

static int by_caller(const void *pa, const void *pb)
{
	const struct call_edge *a = pa, *b = pb;
	int rc = a->caller != b->caller ? (a->caller < b->caller ? -1 : 1) : heavier(a, b);

	return rc ? rc : a->callee < b->callee ? -1 : a->callee > b->callee;
}

static int by_callee(const void *pa, const void *pb, void *edges)
{
	const struct call_edge *a = (const struct call_edge *)edges + *(const uint32_t *)pa;
	const struct call_edge *b = (const struct call_edge *)edges + *(const uint32_t *)pb;
	int rc = a->callee != b->callee ? (a->callee < b->callee ? -1 : 1) : heavier(a, b);

	return rc ? rc : a->caller < b->caller ? -1 : a->caller > b->caller;
}

static int fill_orders(struct calls *out)
{
	out->by_callee = malloc((out->n_edges + 1) * sizeof(*out->by_callee));
	if (!out->by_callee)
		return -1;
	if (out->n_edges > 1)
		qsort(out->edge, out->n_edges, sizeof(*out->edge), by_caller);
	for (size_t i = 0; i < out->n_edges; i++)
		out->by_callee[i] = (uint32_t)i;
	if (out->n_edges > 1)
		qsort_r(out->by_callee, out->n_edges, sizeof(*out->by_callee), by_callee,
			out->edge);
	for (size_t i = out->n_edges; i-- > 0;) {
		struct call_function *from = &out->f[out->edge[i].caller];
		struct call_function *to = &out->f[out->edge[out->by_callee[i]].callee];

		from->first_callee = (uint32_t)i;
		from->n_callees++;
		to->first_caller = (uint32_t)i;
		to->n_callers++;
	}
	assert(pairs_hold(out->n_edges, i, out->edge[i].caller <= out->edge[i + 1].caller));
	assert(all_hold(out->n, i,
			out->f[i].first_callee + out->f[i].n_callees <= out->n_edges &&
				out->f[i].first_caller + out->f[i].n_callers <= out->n_edges));
	return 0;
}

int calls_sum_up(struct calls *out, const struct calls_work *w, struct calls_sum *s,
		 struct err *err)
{
	if (fill_edges(out, w, s) || fill_functions(out, s) || fill_orders(out))
		return err_nomem(err);
	return 0;
}
