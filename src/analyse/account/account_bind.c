/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "analyse/account/account_int.h"
#include "base/xalloc.h"

struct binding {
	struct account_bound *b;
	struct account_work *w;
	struct arena *a;
	uint32_t *use_of_event; /* by the model's events */
	size_t n_needs;
	bool counting; /* how many needs there are; else they are put down */
};

static uint32_t use_event(struct binding *x, uint32_t event)
{
	uint32_t *at = &x->use_of_event[event];

	if (*at == MODEL_NONE) {
		*at = (uint32_t)x->w->n_use;
		x->w->use[x->w->n_use++] =
			(struct account_use){ .event = event, .recorded = -1, .weight = NAN };
	}
	return *at;
}

static int take_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct binding *x = ctx;
	struct account_need n = { kind, index, index };

	if (kind != EXPR_EVENT && kind != EXPR_METRIC)
		return 0;
	if (kind == EXPR_EVENT)
		n.index = use_event(x, index);
	if (!x->counting)
		x->w->need[x->n_needs] = n;
	x->n_needs++;
	return 0;
}

static void take_needs(struct binding *x)
{
	const struct account *acc = x->b->acc;

	x->n_needs = 0;
	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];

		x->w->need_from[i] = (uint32_t)x->n_needs;
		x->w->use_of[i] = t->event == MODEL_NONE ? MODEL_NONE : use_event(x, t->event);
		if (t->expr)
			(void)expr_needs(t->expr, NULL, take_need, x);
	}
	x->w->need_from[acc->n] = (uint32_t)x->n_needs;
}

/* Returns true if `a` is used of two equal events: the one of all privilege levels, then the one
 * with more samples. */
static bool bind_goes_before(const struct pd_event *a, const struct pd_event *b)
{
	bool some_a = a->attr.exclude_user || a->attr.exclude_kernel;
	bool some_b = b->attr.exclude_user || b->attr.exclude_kernel;

	return some_a != some_b ? !some_a : a->samples > b->samples;
}

static int32_t find_recorded(const struct model_event *m, const struct pd_event *ev, size_t n,
			     const struct account_pmu *pmu)
{
	unsigned best = 0;
	int32_t at = -1;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		unsigned sure = account_same_event(m, &ev[i], pmu);

		if (!sure || sure < best ||
		    (sure == best && at >= 0 && !bind_goes_before(&ev[i], &ev[at])))
			continue;
		best = sure;
		at = (int32_t)i;
	}
	return at;
}

static int no_cycles(const struct account *acc, struct err *err)
{
	const char *name = acc->n && acc->node[0].event != MODEL_NONE
				   ? acc->model->event[acc->node[0].event].name
				   : "cycles";

	return err_set(err, ERR_NOT_FOUND,
		       "the recording has no %s, of which an account of cycles is", name);
}

static void alloc_work(struct binding *x, size_t n_recorded)
{
	const struct account *acc = x->b->acc;
	size_t n = acc->n + 1, n_events = acc->model->n_events + 1;
	struct account_work *w = arena_xalloc(x->a, sizeof(*w));

	x->w = x->b->work = w;
	w->n_recorded = n_recorded;
	w->use = arena_xalloc(x->a, n_events * sizeof(*w->use));
	w->use_of = arena_xalloc(x->a, n * sizeof(*w->use_of));
	w->source_of = arena_xalloc(x->a, n * sizeof(*w->source_of));
	w->need_from = arena_xalloc(x->a, (n + 1) * sizeof(*w->need_from));
	w->child = arena_xalloc(x->a, n * sizeof(*w->child));
	w->sibling = arena_xalloc(x->a, n * sizeof(*w->sibling));
	w->used = arena_xalloc(x->a, n_recorded + 1);
	x->b->dead = arena_xalloc(x->a, n_recorded + 1);
	w->count = arena_xalloc(x->a, n_events * sizeof(*w->count));
	w->vague = arena_xalloc(x->a, n * sizeof(*w->vague));
	w->value = arena_xalloc(x->a, n * sizeof(*w->value));
	x->use_of_event = arena_xalloc(x->a, n_events * sizeof(*x->use_of_event));
	for (size_t i = 0; i < n_events; i++) {
		w->count[i] = NAN;
		x->use_of_event[i] = MODEL_NONE;
	}
}

static void alloc_rows(struct binding *x)
{
	struct account_work *w = x->w;
	const struct account *acc = x->b->acc;
	size_t n = w->n_use + 1;

	for (size_t i = 0; i < acc->n; i++)
		if (acc->node[i].whole)
			w->source_of[i] = (uint32_t)n++;
	w->n_sources = n;

	w->need = arena_xalloc(x->a, (x->n_needs + 1) * sizeof(*w->need));
	w->tally = arena_xalloc(x->a, (w->n_use + 1) * sizeof(*w->tally));
	w->variance = arena_xalloc(x->a, n * sizeof(*w->variance));
	w->gradient = arena_xalloc(x->a, n * (acc->n + 1) * sizeof(*w->gradient));
}

static void bind_events(struct binding *x, const struct pd_event *ev, size_t n,
			const struct account_pmu *pmu)
{
	const struct account *acc = x->b->acc;
	int32_t *event = arena_xalloc(x->a, (acc->model->n_events + 1) * sizeof(*event));

	x->b->event = event;
	x->b->unknown = arena_xalloc(x->a, (n + 1) * sizeof(*x->b->unknown));
	for (size_t i = 0; i < acc->model->n_events; i++)
		event[i] = -1;
	for (size_t i = 0; i < x->w->n_use; i++) {
		struct account_use *u = &x->w->use[i];

		u->recorded = find_recorded(&acc->model->event[u->event], ev, n, pmu);
		event[u->event] = u->recorded;
		if (u->recorded < 0)
			continue;
		x->w->used[u->recorded] = true;
		u->empty = !ev[u->recorded].samples;
		if (!ev[u->recorded].attr.freq && ev[u->recorded].attr.sample_period)
			u->weight = (double)ev[u->recorded].attr.sample_period;
	}
	for (size_t i = 0; i < n; i++)
		if (!x->w->used[i])
			x->b->unknown[x->b->n_unknown++] = (uint32_t)i;
}

int account_bind(struct account_bound *out, struct arena *a, const struct account *acc,
		 const struct pd_event *event, size_t n, const struct account_pmu *pmu,
		 struct err *err)
{
	struct binding x = { .b = out, .a = a };

	*out = (struct account_bound){ .acc = acc, .clock_ratio = NAN, .ghz = NAN, .halted = NAN };
	if (!acc->n || acc->node[0].event == MODEL_NONE)
		return no_cycles(acc, err);
	alloc_work(&x, n);
	x.counting = true;
	take_needs(&x);
	x.w->use_reference =
		acc->reference == MODEL_NONE ? MODEL_NONE : use_event(&x, acc->reference);
	alloc_rows(&x);
	x.counting = false;
	take_needs(&x);
	/* Children in the order of the tree. */
	for (size_t i = 0; i < acc->n; i++)
		x.w->child[i] = x.w->sibling[i] = MODEL_NONE;
	for (size_t i = acc->n; i-- > 0;) {
		const struct account_node *t = &acc->node[i];

		if (!t->adds || t->parent == MODEL_NONE || t->parent >= acc->n)
			continue;
		x.w->sibling[i] = x.w->child[t->parent];
		x.w->child[t->parent] = (uint32_t)i;
	}
	bind_events(&x, event, n, pmu);
	return out->event[acc->node[0].event] < 0 ? no_cycles(acc, err) : 0;
}

bool account_uses(const struct account_bound *b, size_t event)
{
	return event < b->work->n_recorded && b->work->used[event];
}
