/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares targets and sources of branches with begins and ends of spans. */
#include <math.h>
#include <stdlib.h>

#include "analyse/flow/flow_int.h"

struct end { /* of a span or edge; those of one place add up */
	uint32_t image;
	uint64_t addr;
	const struct flow_weight *w;
	bool edge;
};

struct account {
	double apart, all;
	uint64_t hits; /* places with fewer do not count */
	struct flow_balance *out;
};

static int by_place(const void *x, const void *y)
{
	const struct end *a = x, *b = y;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void place(struct account *a, const struct end *e, size_t n)
{
	double edges = 0, group[FLOW_SLOTS] = { 0 };
	struct flow_value runs;
	uint64_t hits = 0;

	for (size_t i = 0; i < n; i++) {
		if (e[i].edge) {
			edges += flow_sum(e[i].w);
			hits += e[i].w->hits;
			continue;
		}
		for (unsigned g = 0; g < FLOW_SLOTS; g++)
			group[g] += e[i].w->group[g];
	}
	if (hits < a->hits)
		return;
	runs = flow_total(group);
	flow_balance_add(a->out, fabs(edges - runs.v), runs);
	a->apart += fabs(edges - runs.v);
	a->all += edges;
}

static void add_places(struct account *a, struct end *e, size_t n)
{
	qsort(e, n, sizeof(*e), by_place);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && !by_place(&e[i], &e[k]); k++)
			;
		place(a, e + i, k - i);
	}
}

int flow_balance(struct flow_balance *out, const struct flow *f, uint64_t hits, struct err *err)
{
	size_t n = f->n_edges + f->n_spans;
	struct end *e = malloc((n + 1) * sizeof(*e));
	struct account a = { .hits = hits, .out = out };

	*out = (struct flow_balance){ .apart = NAN };
	if (!e)
		return err_nomem(err);
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < f->n_edges; i++) {
			const struct flow_place *at = side ? &f->edge[i].from : &f->edge[i].to;

			e[i] = (struct end){ at->image, at->addr, &f->edge[i].w, true };
		}
		for (size_t i = 0; i < f->n_spans; i++) {
			const struct flow_span *s = &f->span[i];

			e[f->n_edges + i] =
				(struct end){ s->image, side ? s->end : s->start, &s->w, false };
		}
		add_places(&a, e, n);
	}
	free(e);
	if (a.all > 0)
		out->apart = a.apart / a.all;
	return 0;
}
