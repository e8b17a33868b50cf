/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/drill_latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/event.h"
#include "measure/drill/drill_latency_int.h"

#define WEIGHT	    200000.0 /* latency * period: cycles that a sample stands for */
#define GUESS	    40.0     /* cycles, if no table has any */
#define PERIOD_MIN  1000.0
#define PERIOD_MAX  100000.0
#define NOBODY	    UINT32_MAX
#define WEIGHT_HERE "the kernel does not take it; it needs Linux 6.3"

/* ---- samplers --------------------------------------------------------------------------- */

/* Samples at a period that has factors in common with a loop's length would favour some of it. */
static uint64_t prime_from(uint64_t n)
{
	for (n |= 1;; n += 2) {
		uint64_t f = 3;

		while (f * f <= n && n % f)
			f += 2;
		if (f * f > n)
			return n;
	}
}

static uint64_t period_of(const struct model_event *e)
{
	double period = WEIGHT / (e->latency > 0 ? e->latency : GUESS);

	return prime_from((uint64_t)fmin(fmax(period, PERIOD_MIN), PERIOD_MAX));
}

static int add_latency_event(struct drill_latency *l, struct drill *d, size_t core, uint32_t event,
			     struct err *err)
{
	const struct drill_core *c = &d->core[core];
	const struct model_event *e = &c->m->event[event];
	struct latency_event *s = &l->event[l->n];
	const char *text = model_event_text(d->a, e, c->pmu);
	size_t from = l->list.ev.n;

	if (!text)
		return err_nomem(err);
	if (event_parse(&l->list, d->root, text, NULL) || l->list.ev.n != from + 1)
		return 0; /* it stays without a sampler */
	*s = (struct latency_event){ .attr = l->list.ev.v[from].attr,
				     .period = period_of(e),
				     .name = e->name };
	event_cpus(&s->cpus, &s->n_cpus, &l->list.ev.v[from], d->a);
	l->core[core].at[event] = (uint32_t)l->n;
	l->n++;
	return 0;
}

static int add_latency_group(struct drill_latency *l, struct drill *d, size_t core, size_t sampler,
			     struct err *err)
{
	const struct plan_group *pg = &d->core[core].plan.sampler[sampler];
	size_t first = l->n;

	for (size_t i = 0; i < pg->n; i++)
		if (add_latency_event(l, d, core, pg->event[i], err))
			return -1;
	if (l->n == first)
		return 0;
	for (size_t i = first; i < l->n; i++)
		l->event[i].group = (uint32_t)first;
	l->group[l->n_groups++] = (struct latency_group){
		.core = core, .plan = pg, .first = first, .n = l->n - first
	};
	return 0;
}

static int core_room(struct drill_latency *l, struct drill *d, size_t core, struct err *err)
{
	struct drill_core *c = &d->core[core];
	struct latency_core *lc = &l->core[core];
	size_t n = c->m->n_events;

	lc->at = arena_alloc(d->a, (n + 1) * sizeof(*lc->at));
	lc->use = arena_alloc(d->a, (n + 1) * sizeof(*lc->use));
	c->latency_why = arena_alloc(d->a, (n + 1) * sizeof(*c->latency_why));
	if (!lc->at || !lc->use || !c->latency_why)
		return err_nomem(err);
	memset(lc->at, 0xff, n * sizeof(*lc->at));
	return 0;
}

static int make_latency_room(struct drill_latency *l, struct drill *d, size_t n, struct err *err)
{
	l->event = arena_alloc(d->a, (n + 1) * sizeof(*l->event));
	l->group = arena_alloc(d->a, (n + 1) * sizeof(*l->group));
	l->now = arena_alloc(d->a, (n + 1) * sizeof(*l->now));
	l->mark = arena_alloc(d->a, (n + 1) * sizeof(*l->mark));
	l->ended = arena_alloc(d->a, (n + 1) * sizeof(*l->ended));
	l->room = arena_alloc(d->a, (n + 1) * sizeof(*l->room));
	return l->event && l->group && l->now && l->mark && l->ended && l->room ? 0
										: err_nomem(err);
}

static enum latency_wish wish_of(const char *word)
{
	static const char *const words[] = { [WISH_AUTO] = "auto",
					     [WISH_SAMPLE] = "sample",
					     [WISH_STATIC] = "static",
					     [WISH_OFF] = "off" };

	for (unsigned i = 0; word && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return (enum latency_wish)i;
	return WISH_AUTO;
}

int drill_latency_plan(struct drill *d, const struct counting *k, struct err *err)
{
	struct drill_latency *l = arena_alloc(d->a, sizeof(*l));
	size_t n = 0;

	if (!l)
		return err_nomem(err);
	l->list = (struct event_list)EVENT_LIST_INIT;
	l->wish = wish_of(k->opts->latency);
	l->each = SIZE_MAX;
	d->latency = l;
	for (size_t c = 0; c < d->n_cores; c++)
		n += d->core[c].plan.n_latency;
	if (make_latency_room(l, d, n, err))
		return -1;
	for (size_t c = 0; c < d->n_cores; c++) {
		if (core_room(l, d, c, err))
			return -1;
		if (l->wish == WISH_STATIC || l->wish == WISH_OFF)
			continue;
		for (size_t g = 0; g < d->core[c].plan.n_samplers; g++)
			if (add_latency_group(l, d, c, g, err))
				return -1;
	}
	drill_latency_values(d, k, 0);
	return 0;
}

/* ---- values ----------------------------------------------------------------------------- */

static const char *refusal(int number)
{
	switch (number) {
	case EINVAL:
	case E2BIG:
		return WEIGHT_HERE;
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return "no precise samples (PEBS) of it here: a virtual machine?";
	case EACCES:
	case EPERM:
		return "sampling is not permitted (perf_event_paranoid)";
	case EBUSY:
		return "another program holds the counter";
	case ENOSPC:
		return "no counter of its kind is left";
	default:
		return "the kernel refuses to sample it";
	}
}

static const char *why_not_sampled(const struct drill_latency *l, uint32_t at,
				   const struct latency_value *v)
{
	if (l->wish == WISH_STATIC)
		return "--latency=static";
	if (l->wish == WISH_OFF)
		return "--latency=off";
	if (at == NOBODY)
		return "it fits no counter that is free here";
	if (l->failed)
		return l->failed;
	if (drill_latency_refused(l, at))
		return refusal(drill_latency_refused(l, at));
	if (v->silent)
		return "its samples say 0: Linux before 6.3, or a CPU that does not tell";
	return v->n ? "too few samples" : "no samples";
}

static void use_value(struct drill *d, size_t core, uint32_t event, const struct latency_value *v)
{
	struct drill_latency *l = d->latency;
	struct drill_core *c = &d->core[core];
	struct latency_use *u = &l->core[core].use[event];
	double table = c->m->event[event].latency;

	*u = (struct latency_use){ .value = *v };
	c->latency[event] = v->mean;
	c->latency_se[event] = v->se;
	c->latency_why[event] = NULL;
	if (!isnan(v->mean)) {
		u->source = TREE_LATENCY_SAMPLED;
		return;
	}
	u->why = why_not_sampled(l, l->core[core].at[event], v);
	c->latency_why[event] = u->why;
	if (!isnan(table) && l->wish != WISH_SAMPLE && l->wish != WISH_OFF) {
		u->source = TREE_LATENCY_STATIC;
		c->latency[event] = table;
	}
}

static void use_all(struct drill *d, bool with_ended, uint64_t from)
{
	struct drill_latency *l = d->latency;

	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t i = 0; i < d->core[c].plan.n_latency; i++) {
			uint32_t event = d->core[c].plan.latency[i], at = l->core[c].at[event];
			struct latency_value v = { .mean = NAN, .se = NAN };
			struct latency_sums s;

			if (at == NOBODY) {
				use_value(d, c, event, &v);
				continue;
			}
			if (from && from == l->marked) {
				s = l->now[at];
				latency_since(&s, &l->mark[at]);
				latency_value_of(&s, &v);
			}
			if (isnan(v.mean)) {
				s = l->now[at];
				if (with_ended)
					latency_add(&s, &l->ended[at]);
				latency_value_of(&s, &v);
			}
			use_value(d, c, event, &v);
		}
}

void drill_latency_values(struct drill *d, const struct counting *k, uint64_t from)
{
	struct drill_latency *l = d->latency;

	if (!l)
		return;
	drill_latency_read(l, k->stopped);
	/* the same program again: a run more of the same */
	use_all(d, d->mode == DRILL_RERUN || d->mode == DRILL_EACH, from);
}

void drill_latency_mark(struct drill *d, uint64_t now)
{
	struct drill_latency *l = d->latency;

	memcpy(l->mark, l->now, l->n * sizeof(*l->mark));
	l->marked = now;
}

void drill_latency_of_all_runs(struct drill *d)
{
	use_all(d, true, 0);
}
