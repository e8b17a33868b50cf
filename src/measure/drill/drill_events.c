/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the plan's groups to groups of counters. Events of the core's PMU stay together; events
 * outside the core (one PMU for each memory controller, for example) are a group of their own for
 * each PMU, and their counts are summed.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/counting_events.h"
#include "measure/drill.h"

struct builder {
	struct drill *d;
	const struct counting *k;
	struct counter_group *group;
	size_t n_groups, cap_groups;
	struct err *err;
};

static void fill_counter(struct counter_event *out, const struct event *ev,
			 const struct model_event *e, struct arena *a)
{
	*out = (struct counter_event){ .attr = ev->attr,
				       .name = e->name,
				       .typed = ev->name,
				       .with_leader = !!(e->flags & EVENT_METRIC) };
	event_cpus(&out->cpus, &out->n_cpus, ev, a);
}

static int add_counter_group(struct builder *b, const struct counter_event *ev, size_t n, bool idle)
{
	if (b->n_groups == b->cap_groups)
		return err_set(b->err, ERR_LIMIT, "more than %zu groups of counters",
			       b->cap_groups);
	b->group[b->n_groups++] = (struct counter_group){ .event = ev, .n = n, .idle = idle };
	return 0;
}

/* Events [from, to) of the list are one event of the model. */
struct became {
	size_t from, to;
};

/* An event that this machine cannot even name stays without a counter. */
static int parse_model_event(struct builder *b, const struct drill_core *c, uint32_t event,
			     struct became *out)
{
	struct drill *d = b->d;
	const char *text = model_event_text(d->a, &c->m->event[event], c->pmu);

	out->from = out->to = d->list.ev.n;
	if (!text)
		return err_nomem(b->err);
	if (event_parse(&d->list, d->root, text, NULL))
		return 0;
	out->to = d->list.ev.n;
	return 0;
}

/* All of a core's events at once, since each parsing reads the machine's PMUs. */
static int parse_many(struct builder *b, const struct drill_core *c, const uint32_t *event,
		      size_t n, struct became *out)
{
	struct drill *d = b->d;
	struct buf text = BUF_INIT;
	size_t from = d->list.ev.n;

	for (size_t i = 0; i < n; i++) {
		const char *s = model_event_text(d->a, &c->m->event[event[i]], c->pmu);

		buf_printf(&text, "%s%s", i ? "," : "", s ? s : "");
	}
	if (!text.failed && n && !event_parse(&d->list, d->root, buf_str(&text), NULL) &&
	    d->list.ev.n == from + n) {
		buf_free(&text);
		for (size_t i = 0; i < n; i++)
			out[i] = (struct became){ from + i, from + i + 1 };
		return 0;
	}
	d->list.ev.n = from;
	buf_free(&text);
	for (size_t i = 0; i < n; i++)
		if (parse_model_event(b, c, event[i], &out[i]))
			return -1;
	return 0;
}

/* Two names for one counter: it is opened once. */
static bool same_counter_attr(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->exclude_user == b->exclude_user &&
	       a->exclude_kernel == b->exclude_kernel && a->exclude_hv == b->exclude_hv &&
	       a->exclude_guest == b->exclude_guest && a->exclude_host == b->exclude_host;
}

/* Where a counter is among n of a group; n: not yet. */
static uint32_t find_counter(const struct counter_event *ev, uint32_t n,
			     const struct perf_event_attr *attr)
{
	uint32_t i = 0;

	while (i < n && !same_counter_attr(&ev[i].attr, attr))
		i++;
	return i;
}

struct counters_of {
	struct counter_event *ev;
	uint32_t n, *at; /* at: by event of the plan's group: its counter, or NO_COUNTER */
};

#define NO_COUNTER UINT32_MAX

static int list_counters(struct builder *b, const struct drill_core *c, const struct plan_group *pg,
			 const struct became *was, struct counters_of *out)
{
	out->n = 0;
	out->ev = arena_alloc(b->d->a, (pg->n + 1) * sizeof(*out->ev));
	out->at = arena_alloc(b->d->a, (pg->n + 1) * sizeof(*out->at));
	if (!out->ev || !out->at)
		return err_nomem(b->err);
	for (size_t i = 0; i < pg->n; i++) {
		const struct event *parsed = &b->d->list.ev.v[was[i].from];

		out->at[i] = NO_COUNTER;
		if (was[i].from == was[i].to)
			continue;
		out->at[i] = find_counter(out->ev, out->n, &parsed->attr);
		if (out->at[i] == out->n)
			fill_counter(&out->ev[out->n++], parsed, &c->m->event[pg->event[i]],
				     b->d->a);
	}
	return 0;
}

/* Members that do not need their leader can go on without it. */
static bool can_be_apart(const struct counters_of *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->ev[i].with_leader)
			return false;
	return x->n > 1;
}

/* One group of counters for the whole of it; of a pinned one a second, that takes turns, and of
 * another one its leader, for when it is taken apart. */
static int build_core_group(struct builder *b, const struct drill_core *c,
			    const struct plan_group *pg, const struct became *was,
			    struct drill_group *g, bool idle)
{
	struct drill_cell *cell = arena_alloc(b->d->a, (2 * pg->n + 1) * sizeof(*cell));
	uint32_t *first = arena_alloc(b->d->a, (pg->n + 1) * sizeof(*first));
	uint32_t *mine = arena_alloc(b->d->a, 2 * sizeof(*mine));
	size_t copies;
	struct counters_of x;
	uint32_t n = 0;

	if (!cell || !first || !mine)
		return err_nomem(b->err);
	if (list_counters(b, c, pg, was, &x))
		return -1;
	copies = pg->pinned || can_be_apart(&x) ? 2 : 1;
	for (size_t k = 0; k < copies; k++)
		mine[k] = (uint32_t)(b->n_groups + k);
	for (size_t i = 0; i < pg->n; i++) {
		first[i] = n;
		for (size_t k = 0; k < copies && x.at[i] != NO_COUNTER; k++)
			if (!k || pg->pinned || !x.at[i])
				cell[n++] = (struct drill_cell){ mine[k], x.at[i] };
	}
	first[pg->n] = n;
	*g = (struct drill_group){ .cell = cell,
				   .first = first,
				   .counter_group = mine,
				   .n_counter_groups = x.n ? copies : 0,
				   .pinned = pg->pinned,
				   .spare = copies > 1 && !pg->pinned,
				   .core = true };
	for (size_t k = 0; k < g->n_counter_groups; k++) {
		if (add_counter_group(b, x.ev, k && !pg->pinned ? 1 : x.n, idle || k))
			return -1;
		b->group[mine[k]].pinned = pg->pinned && !k;
	}
	return 0;
}

/* A group for each event on each PMU. */
static int build_spread_group(struct builder *b, const struct drill_core *c,
			      const struct plan_group *pg, const struct became *was,
			      struct drill_group *g, bool idle)
{
	size_t total = 0;
	struct counter_event *ev;
	struct drill_cell *cell;
	uint32_t *first, *mine, n = 0;

	for (size_t i = 0; i < pg->n; i++)
		total += was[i].to - was[i].from;
	ev = arena_alloc(b->d->a, (total + 1) * sizeof(*ev));
	cell = arena_alloc(b->d->a, (total + 1) * sizeof(*cell));
	mine = arena_alloc(b->d->a, (total + 1) * sizeof(*mine));
	first = arena_alloc(b->d->a, (pg->n + 1) * sizeof(*first));
	if (!ev || !cell || !first || !mine)
		return err_nomem(b->err);
	for (size_t i = 0; i < pg->n; i++) {
		first[i] = n;
		for (size_t e = was[i].from; e < was[i].to; e++, n++) {
			mine[n] = (uint32_t)b->n_groups;
			cell[n] = (struct drill_cell){ mine[n], 0 };
			fill_counter(&ev[n], &b->d->list.ev.v[e], &c->m->event[pg->event[i]],
				     b->d->a);
			if (add_counter_group(b, &ev[n], 1, idle))
				return -1;
		}
	}
	first[pg->n] = n;
	*g = (struct drill_group){
		.cell = cell, .first = first, .counter_group = mine, .n_counter_groups = n
	};
	return 0;
}

static bool takes_core(const struct drill_core *c, const struct plan_group *pg)
{
	for (size_t i = 0; i < pg->n; i++)
		if (!(c->m->event[pg->event[i]].flags & (EVENT_SOFTWARE | EVENT_UNCORE)))
			return true;
	return false;
}

static bool in_stage_0(const struct drill_core *c, size_t group)
{
	for (size_t i = 0; i < c->plan.stage[0].n_groups; i++)
		if (c->plan.stage[0].group[i] == group)
			return true;
	return false;
}

static int build_core(struct builder *b, struct drill_core *c)
{
	c->group = arena_alloc(b->d->a, (c->plan.n_groups + 1) * sizeof(*c->group));
	if (!c->group)
		return err_nomem(b->err);
	for (size_t i = 0; i < c->plan.n_groups; i++) {
		const struct plan_group *pg = &c->plan.group[i];
		struct became *was = arena_alloc(b->d->a, (pg->n + 1) * sizeof(*was));
		bool core = takes_core(c, pg), idle = !in_stage_0(c, i);

		if (!was)
			return err_nomem(b->err);
		if (parse_many(b, c, pg->event, pg->n, was) ||
		    (core ? build_core_group(b, c, pg, was, &c->group[i], idle)
			  : build_spread_group(b, c, pg, was, &c->group[i], idle)))
			return -1;
	}
	return 0;
}

/* If groups take turns: an event that is on all the time counts how long the target ran. */
static int build_clock(struct builder *b)
{
	struct counter_event *ev;
	size_t most = 0;

	for (size_t i = 0; i < b->d->n_cores; i++) {
		size_t n = 0;

		for (size_t g = 0; g < b->d->core[i].plan.n_groups; g++)
			n += b->d->core[i].group[g].core;
		most = n > most ? n : most;
	}
	if (most < 2 || b->d->mode == DRILL_EACH)
		return 0;
	ev = arena_alloc(b->d->a, sizeof(*ev));
	if (!ev)
		return err_nomem(b->err);
	*ev = (struct counter_event){ .attr = { .type = PERF_TYPE_SOFTWARE,
						.config = PERF_COUNT_SW_TASK_CLOCK },
				      .name = "task-clock",
				      .typed = "task-clock" };
	b->d->clock = b->n_groups;
	return add_counter_group(b, ev, 1, false);
}

int drill_events(struct drill *d, const struct counting *k, struct err *err)
{
	struct builder b = { .d = d, .k = k, .err = err, .cap_groups = 4096 };

	d->list.counts = true;
	b.group = arena_alloc(d->a, b.cap_groups * sizeof(*b.group));
	if (!b.group)
		return err_nomem(err);
	for (size_t i = 0; i < d->n_cores; i++)
		if (build_core(&b, &d->core[i]))
			return -1;
	if (build_clock(&b))
		return -1;
	d->setup.group = d->counter_group = b.group;
	d->setup.n_groups = b.n_groups;
	return 0;
}
