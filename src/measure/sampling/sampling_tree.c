/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/sampling_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/counting_events.h"
#include "measure/drill_latency.h"
#include "measure/sampling/sampling_int.h"

struct sampling_tree *sampling_tree(struct sampling *r)
{
	return &r->tree;
}

/* ---- the plan --------------------------------------------------------------------------- */

static bool takes_counter(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_SOFTWARE && a->type != PERF_TYPE_TRACEPOINT &&
	       a->type != PERF_TYPE_BREAKPOINT;
}

/* Events that sample and take counters; false if they leave no room for a tree. */
static bool find_held(struct sampling *r)
{
	struct sampling_tree *t = &r->tree;

	for (size_t i = 0; i < r->events.ev.n; i++) {
		const struct event *e = &r->events.ev.v[i];
		const struct perf_event_attr *a = &r->ev[i].attr;

		if (!takes_counter(a))
			continue;
		for (size_t j = 0; j < t->n_held; j++)
			if (!strcmp(t->held[j].pmu, e->pmu))
				return false;
		if (e->group != (int)i || e->sample_read || t->n_held == SAMPLING_HELD)
			return false;
		t->held[t->n_held++] = (struct drill_held){ e->pmu, a };
	}
	return true;
}

/* Cycles and instructions, together on each kind of core. */
static int plan_plain(struct sampling *r, struct err *err)
{
	struct sampling_tree *t = &r->tree;
	struct counter_event *ev;
	struct counter_group *g;
	size_t n, half;

	t->plain_events.counts = true;
	if (event_parse(&t->plain_events, r->k.root, "cycles,instructions", err))
		return -1;
	n = t->plain_events.ev.n;
	half = n / 2; /* of a hybrid all cycles come first, then all instructions */
	ev = arena_alloc(r->arena, (n + 1) * sizeof(*ev));
	g = arena_alloc(r->arena, (half + 1) * sizeof(*g));
	if (!ev || !g)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &t->plain_events.ev.v[i];
		struct counter_event *out = &ev[i % half * 2 + i / half];

		*out = (struct counter_event){ .attr = e->attr, .name = e->name, .typed = e->name };
		event_cpus(&out->cpus, &out->n_cpus, e, r->arena);
	}
	for (size_t i = 0; i < half; i++)
		g[i] = (struct counter_group){ .event = &ev[2 * i], .n = 2 };
	t->plain_setup = (struct counter_setup){ .group = g, .n_groups = half };
	t->plain = true;
	return 0;
}

void sampling_tree_give_up(struct sampling_tree *t, const struct err *why)
{
	t->drilling = false;
	(void)snprintf(t->why, sizeof(t->why), "%.255s", why->what);
}

/* A level or a node that was named has to be there. */
static bool is_tree_named(const struct measure_opts *o)
{
	return o->level_said || o->node.n || o->model.named || o->model.dirs.n;
}

static int plan_drill(struct sampling *r, struct err *err)
{
	struct sampling_tree *t = &r->tree;
	struct err why = ERR_INIT;

	if (!drill_open(&t->d, &r->k, t->held, t->n_held, &why)) {
		t->drilling = true;
		t->reader = drill_reader(&t->d);
		return 0;
	}
	if (is_tree_named(&r->opts) || why.code == ERR_NOMEM) {
		*err = why;
		return -1;
	}
	sampling_tree_give_up(t, &why);
	(void)!plan_plain(r, NULL); /* then nothing is counted beside the samples */
	return 0;
}

static void set_precise(struct sampling *r, unsigned precise)
{
	for (size_t i = 0; i < r->events.ev.n; i++)
		if (r->events.ev.v[i].attr.precise_ip)
			r->ev[i].attr.precise_ip = precise & 3;
}

static int plan_again(struct sampling *r, unsigned precise, struct err *err)
{
	struct sampling_tree *t = &r->tree;

	set_precise(r, precise);
	drill_free(&t->d);
	event_list_free(&t->plain_events);
	t->plain_events = (struct event_list)EVENT_LIST_INIT;
	t->drilling = t->plain = false;
	*t->why = '\0';
	return plan_drill(r, err);
}

/* Precise cycles have few counters. If another program holds the others, so that level 1 has none,
 * samples become less precise, step by step, until it has one. */
static int plan_less_precise(struct sampling *r, struct err *err)
{
	struct sampling_tree *t = &r->tree;
	unsigned first = t->n_held ? t->held[0].attr->precise_ip : 0, now = first;
	bool fits;

	if (drill_fits_beside(&t->d, &fits, err))
		return -1;
	while (!fits && now) {
		if (plan_again(r, --now, err) ||
		    (t->drilling && drill_fits_beside(&t->d, &fits, err)))
			return -1;
	}
	if (!fits && first) /* in vain */
		return plan_again(r, first, err);
	if (now != first)
		measure_news(&r->opts,
			     "samples are less precise (%u of 3, not %u): others hold counters, "
			     "and level 1 needs those that are left",
			     now, first);
	return 0;
}

int sampling_tree_plan(struct sampling *r, struct counter_setup **setup, struct err *err)
{
	struct sampling_tree *t = &r->tree;

	*setup = NULL;
	if (!r->opts.tree || *r->result.no_cycles)
		return 0;
	if (!find_held(r)) {
		(void)snprintf(t->why, sizeof(t->why), "what samples (-e) leaves it no counters");
		if (!is_tree_named(&r->opts))
			return 0;
		(void)err_set(err, ERR_USAGE, "no tree beside these events: %s", t->why);
		return err_hint(err, "one event at a time: -e cycles:P, or none");
	}
	if (plan_drill(r, err) || (!r->opts.event.n && t->drilling && plan_less_precise(r, err)))
		return -1;
	if (t->drilling)
		drill_prepare(&t->d);
	*setup = t->drilling ? &t->d.setup : t->plain ? &t->plain_setup : NULL;
	/* in turns with others they would sample some of the time only */
	for (size_t i = 0; *setup && i < r->events.ev.n; i++)
		if (takes_counter(&r->ev[i].attr) && r->ev[i].group == (int)i)
			r->ev[i].attr.pinned = 1;
	return 0;
}

/* ---- while it runs ---------------------------------------------------------------------- */

void sampling_tree_begin(struct sampling *r)
{
	struct err why = ERR_INIT;

	if (r->tree.drilling && drill_begin(&r->tree.d, &r->k, &why))
		sampling_tree_give_up(&r->tree, &why);
}

void sampling_tree_tick(struct sampling *r)
{
	struct sampling_tree *t = &r->tree;
	struct err why = ERR_INIT;

	if (t->drilling && t->reader.read(t->reader.ctx, &r->k, &why))
		sampling_tree_give_up(t, &why);
}

void sampling_tree_switched(struct sampling *r, bool on)
{
	struct sampling_tree *t = &r->tree;
	struct err why = ERR_INIT;

	if (t->drilling && t->reader.switched(t->reader.ctx, &r->k, on, &why))
		sampling_tree_give_up(t, &why);
}

void sampling_tree_read(struct sampling *r)
{
	struct err why = ERR_INIT;

	if (r->tree.drilling && drill_read(&r->tree.d, &r->k, &why))
		sampling_tree_give_up(&r->tree, &why);
}

static int add_plain_up(const struct sampling *r, size_t event, struct sampling_count *s,
			struct err *err)
{
	size_t targets = counters_targets(r->k.c);
	struct counter_value *v = calloc(2 * targets + 1, sizeof(*v));
	int rc = -1;

	*s = (struct sampling_count){ .share = 1 };
	if (!v)
		return err_nomem(err);
	for (size_t g = 0; g < r->tree.plain_setup.n_groups; g++) {
		if (counters_read(r->k.c, g, v, err))
			goto out;
		for (size_t i = 0; i < targets; i++) {
			const struct counter_value *x = &v[event * targets + i];

			if (x->refused || x->absent || !x->running)
				continue;
			s->known = true;
			s->value += (double)x->value * (double)x->enabled / (double)x->running;
			s->share = fmin(s->share, (double)x->running / (double)x->enabled);
		}
	}
	rc = 0;
out:
	free(v);
	return rc;
}

int sampling_tree_plain(const struct sampling *r, struct sampling_count of[2], struct err *err)
{
	of[0] = of[1] = (struct sampling_count){ 0 };
	if (!r->tree.plain)
		return 0;
	return add_plain_up(r, 0, &of[0], err) || add_plain_up(r, 1, &of[1], err) ? -1 : 0;
}

void sampling_tree_describe(const struct sampling *r, struct buf *out)
{
	const struct sampling_tree *t = &r->tree;

	if (*t->why)
		buf_printf(out, "no tree: %s\n", t->why);
	for (size_t c = 0; t->drilling && c < t->d.n_cores; c++)
		plan_print(out, &t->d.core[c].plan, t->d.core[c].m, &t->d.core[c].limits);
	if (t->drilling)
		drill_latency_describe(out, &t->d);
	if (t->drilling || t->plain)
		counting_describe(out, &r->k, t->drilling ? &t->d.setup : &t->plain_setup);
}

void sampling_tree_free(struct sampling_tree *t)
{
	drill_free(&t->d);
	event_list_free(&t->plain_events);
}
