/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of 0 that need a reason.
 */
#include <math.h>
#include <string.h>

#include "model/event_same.h"
#include "model/schedule.h"
#include "model/tree/tree_int.h"

struct suspecting {
	const struct tree *t;
	const struct tree_counts *c;
	bool *suspect;
	size_t n;
};

double tree_sum(const struct tree_counts *c, uint32_t event)
{
	double sum = NAN;

	for (size_t lp = 0; lp < c->n_lps; lp++) {
		double v = c->count[event * c->n_lps + lp];

		if (!isnan(v))
			sum = isnan(sum) ? v : sum + v;
	}
	return sum;
}

static bool counted_zero(const struct suspecting *s, uint32_t event)
{
	const struct model_event *e = &s->t->model->event[event];

	return !(e->flags & (EVENT_SOFTWARE | EVENT_UNCORE | EVENT_METRIC)) &&
	       tree_sum(s->c, event) == 0 && (!s->c->counted || s->c->counted[event] > 0);
}

static int suspect_ref(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct suspecting *s = ctx;
	const struct model *m = s->t->model;

	if (kind == EXPR_EVENT && index < m->n_used && !s->suspect[index] &&
	    counted_zero(s, index)) {
		s->suspect[index] = true;
		s->n++;
	}
	/* depth: a metric refers only to those before it */
	if (kind == EXPR_METRIC && m->metric[index].expr)
		(void)expr_needs(m->metric[index].expr, s->c->system, suspect_ref, s);
	return 0;
}

size_t tree_suspects(const struct tree *t, const struct tree_counts *c, bool *suspect)
{
	struct suspecting s = { t, c, suspect, 0 };

	for (size_t i = 0; i < t->model->n_used; i++)
		suspect[i] = false;
	for (size_t i = 0; i < t->n; i++) {
		const struct model_metric *m = &t->model->metric[i];

		if (m->level == 1 && m->expr && !m->zero && t->node[i].value.why == VALUE_OK &&
		    t->node[i].value.v == 0)
			(void)expr_needs(m->expr, c->system, suspect_ref, &s);
	}
	return s.n;
}

double tree_cycles(const struct model *m, const struct tree_counts *c)
{
	for (const char *const *name = event_cycle_names; *name; name++) {
		uint32_t e = model_event_find(m, *name, strlen(*name));

		if (e != MODEL_NONE && e < m->n_used && !isnan(tree_sum(c, e)))
			return tree_sum(c, e);
	}
	return NAN;
}

int tree_doubt_zeros(struct tree *t, struct arena *a, struct tree_counts *c, const bool *wanted,
		     struct err *err)
{
	const struct model *m = t->model;
	const char **dead = arena_alloc(a, (m->n_events + 1) * sizeof(*dead));
	bool *suspect = arena_alloc(a, m->n_used + 1);

	if (!dead || !suspect)
		return err_nomem(err);
	if (!(tree_cycles(m, c) >= TREE_LONG) || !tree_suspects(t, c, suspect))
		return 0;
	for (size_t e = 0; e < m->n_used; e++)
		if (suspect[e])
			dead[e] = "counted 0 in over 100 M cycles: its counter did not work";
	c->dead = dead;
	return tree_eval(t, a, m, c, wanted, err);
}
