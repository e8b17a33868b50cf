/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting/run_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/num.h"
#include "cli/counting/drill_report.h"
#include "cli/counting/no_pmu.h"
#include "measure/counting_events.h"
#include "measure/drill_latency.h"
#include "report/tree_saved.h"

/* ---- the plan --------------------------------------------------------------------------- */

/* What samples, as far as it takes counters; false where that leaves no room for a tree. */
static bool find_held(struct run_tree *t, const struct sampling *r)
{
	const struct perf_event_attr *a;
	const struct event *e;

	for (size_t i = 0; (e = sampling_event(r, i, &a)); i++) {
		if (a->type == PERF_TYPE_SOFTWARE || a->type == PERF_TYPE_TRACEPOINT ||
		    a->type == PERF_TYPE_BREAKPOINT)
			continue;
		for (size_t j = 0; j < t->n_held; j++)
			if (!strcmp(t->held[j].pmu, e->pmu))
				return false;
		if (e->group != (int)i || e->sample_read || t->n_held == RUN_TREE_HELD)
			return false;
		t->held[t->n_held++] = (struct drill_held){ e->pmu, a };
	}
	return true;
}

/* Cycles and instructions, together on each kind of core. */
static int plan_plain(struct run_tree *t, struct counting *k, struct err *err)
{
	struct arena *a = &t->cli->arena;
	struct counter_event *ev;
	struct counter_group *g;
	size_t n, half;

	t->plain_events.counts = true;
	if (event_parse(&t->plain_events, k->root, "cycles,instructions", err))
		return -1;
	n = t->plain_events.ev.n;
	half = n / 2; /* of a hybrid all cycles come first, then all instructions */
	ev = arena_alloc(a, (n + 1) * sizeof(*ev));
	g = arena_alloc(a, (half + 1) * sizeof(*g));
	if (!ev || !g)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &t->plain_events.ev.v[i];
		struct counter_event *out = &ev[i % half * 2 + i / half];

		*out = (struct counter_event){ .attr = e->attr, .name = e->name, .typed = e->name };
		event_cpus(&out->cpus, &out->n_cpus, e, a);
	}
	for (size_t i = 0; i < half; i++)
		g[i] = (struct counter_group){ .event = &ev[2 * i], .n = 2 };
	t->plain_setup = (struct counter_setup){ .group = g, .n_groups = half };
	t->plain = true;
	return 0;
}

static void no_tree(struct run_tree *t, const char *why)
{
	(void)snprintf(t->why, sizeof(t->why), "%.255s", why);
}

static bool asked_for(const struct options *o)
{
	return OPTION_GIVEN(o, level) || o->measure.node.n || o->model || o->models.n;
}

static int plan_drill(struct run_tree *t, struct counting *k, struct counter_setup **setup,
		      struct err *err)
{
	struct err none = ERR_INIT;

	if (!drill_open(&t->d, k, t->held, t->n_held, &none)) {
		t->drilling = true;
		drill_prepare(&t->d);
		*setup = &t->d.setup;
		return 0;
	}
	/* a level or a node that was named is to be there, or to be told as a mistake */
	if (asked_for(&t->cli->opt) || none.code == ERR_NOMEM) {
		*err = none;
		return -1;
	}
	no_tree(t, none.what);
	if (plan_plain(t, k, &none))
		return 0;
	*setup = &t->plain_setup;
	return 0;
}

static int plan_again(struct run_tree *t, struct counting *k, struct sampling *r, unsigned precise,
		      struct counter_setup **setup, struct err *err)
{
	sampling_precise(r, precise);
	drill_free(&t->d);
	event_list_free(&t->plain_events);
	t->plain_events = (struct event_list)EVENT_LIST_INIT;
	t->drilling = t->plain = false;
	*t->why = '\0';
	return plan_drill(t, k, setup, err);
}

/* Precise cycles have few counters. If somebody else holds the others, so that level 1 has none,
 * samples become less precise, step by step, until it has one. */
static int plan_less_precise(struct run_tree *t, struct counting *k, struct sampling *r,
			     struct counter_setup **setup, struct err *err)
{
	unsigned first = t->n_held ? t->held[0].attr->precise_ip : 0, now = first;
	bool fits;

	if (drill_fits_beside(&t->d, &fits, err))
		return -1;
	while (!fits && now) {
		if (plan_again(t, k, r, --now, setup, err) ||
		    (t->drilling && drill_fits_beside(&t->d, &fits, err)))
			return -1;
	}
	if (!fits && first) /* in vain */
		return plan_again(t, k, r, first, setup, err);
	if (now != first)
		measure_news(k->opts,
			     "samples are less precise (%u of 3, not %u): others hold counters, "
			     "and level 1 needs those that are left",
			     now, first);
	return 0;
}

/* Said, or refused, before anything runs. */
static int without_pmu(const struct run_tree *t, const struct sampling_result *res, struct err *err)
{
	const struct cli *cli = t->cli;

	if (cli->opt.require) {
		(void)err_set(err, ERR_UNSUPPORTED, "no cycle counter here: %s", res->no_cycles);
		return err_hint(
			err, "without --require pmu, time is sampled; `cyclade doctor` tells more");
	}
	if (!cli->opt.quiet && !cli->opt.measure.dry_run && !t->again)
		no_pmu_say(res->no_cycles, res->hypervisor, "sampling time instead", NULL);
	return 0;
}

static int plan(void *ctx, struct counting *k, struct sampling *r, struct counter_setup **setup,
		struct err *err)
{
	struct run_tree *t = ctx;
	const struct sampling_result *res = sampling_result(r);
	const struct options *o = &t->cli->opt;

	t->k = k;
	if (*res->no_cycles)
		return without_pmu(t, res, err);
	if (o->no_tree)
		return 0;
	if (!find_held(t, r)) {
		no_tree(t, "what samples (-e) leaves it no counters");
		if (!asked_for(o))
			return 0;
		(void)err_set(err, ERR_USAGE, "no tree beside these events: %s", t->why);
		return err_hint(err, "one event at a time: -e cycles:P, or none");
	}
	if (plan_drill(t, k, setup, err))
		return -1;
	return o->measure.event.n || !t->drilling ? 0 : plan_less_precise(t, k, r, setup, err);
}

/* ---- while it runs ---------------------------------------------------------------------- */

/* The samples go on without. */
static void give_up(struct run_tree *t, const struct err *err)
{
	t->drilling = false;
	no_tree(t, err->what);
}

static int opened(void *ctx, struct counting *k, struct err *err)
{
	struct run_tree *t = ctx;
	struct err none = ERR_INIT;

	(void)err;
	if (t->drilling && drill_begin(&t->d, k, &none))
		give_up(t, &none);
	return 0;
}

static int take(void *ctx, struct counting *k, struct err *err)
{
	struct run_tree *t = ctx;
	struct err none = ERR_INIT;

	(void)err;
	if (t->drilling && drill_on_tick(&t->d, k, &none))
		give_up(t, &none);
	return 0;
}

static int switched(void *ctx, struct counting *k, bool on, struct err *err)
{
	struct run_tree *t = ctx;
	struct err none = ERR_INIT;

	(void)k;
	(void)err;
	if (t->drilling && drill_latency_switched(&t->d, on, &none))
		give_up(t, &none);
	return 0;
}

static uint64_t tick(void *ctx)
{
	struct run_tree *t = ctx;

	return t->drilling ? drill_tick(&t->d) : 0;
}

static int so_far(void *ctx, struct counting *k, struct err *err)
{
	struct run_tree *t = ctx;
	struct style st = cli_style(t->cli, STDERR_FILENO);
	struct tree_report r = { 0 };
	struct buf b = BUF_INIT;
	int rc;

	if (!t->drilling)
		return 0;
	(void)take(t, k, err);
	rc = run_tree_report(t, &r, err);
	if (!rc)
		tree_put_views(&b, &r, &st);
	/* nobody may be there to be told */
	if (!rc && fd_write_all(STDERR_FILENO, buf_str(&b), b.len, "", NULL))
		b.failed = true;
	buf_free(&b);
	arena_free(&t->a);
	return rc;
}

/* A recording without its tree is one all the same. */
static int keep(void *ctx, struct buf *out, struct err *err)
{
	struct run_tree *t = ctx;
	struct err none = ERR_INIT;

	(void)err;
	if (!t->drilling)
		return 0;
	if (run_tree_report(t, &t->made, &none)) {
		give_up(t, &none);
		return 0;
	}
	t->is_made = true;
	tree_saved_write(out, &t->made);
	return 0;
}

const struct sampling_beside *run_tree_beside(struct run_tree *t)
{
	t->beside = (struct sampling_beside){
		.plan = plan,
		.keep = keep,
		.hooks = { .opened = opened,
			   .read = take,
			   .tick = tick,
			   .switched = switched,
			   .so_far = so_far,
			   .ctx = t },
	};
	return &t->beside;
}

/* ---- what came of it -------------------------------------------------------------------- */

static int add_up(const struct run_tree *t, size_t event, struct run_tree_plain *s, struct err *err)
{
	size_t targets = counters_targets(t->k->c);
	struct counter_value *v = calloc(2 * targets + 1, sizeof(*v));
	int rc = -1;

	*s = (struct run_tree_plain){ .share = 1 };
	if (!v)
		return err_nomem(err);
	for (size_t g = 0; g < t->plain_setup.n_groups; g++) {
		if (counters_read(t->k->c, g, v, err))
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

int run_tree_plain(struct run_tree *t, struct run_tree_plain of[2], struct err *err)
{
	of[0] = of[1] = (struct run_tree_plain){ 0 };
	if (!t->plain)
		return 0;
	return add_up(t, 0, &of[0], err) || add_up(t, 1, &of[1], err) ? -1 : 0;
}

int run_tree_plain_line(struct run_tree *t, const struct run_tree_plain of[2],
			struct tree_report *r, struct err *err)
{
	char n[NUM_MAX], m[NUM_MAX];

	if (!of[0].known || !of[1].known || !(of[0].value > 0))
		return 0;
	r->cpu = arena_printf(
		&t->a, "%s cycles, %s instructions, IPC %.2f%s", num_count(n, of[0].value),
		num_count(m, of[1].value), of[1].value / of[0].value,
		fmin(of[0].share, of[1].share) < 0.9995 ? ", counted some of the time" : "");
	return r->cpu ? 0 : err_nomem(err);
}

static int make_report(struct run_tree *t, struct tree_report *r, struct err *err)
{
	struct drill_report said = { &t->cli->opt, &t->d, t->k, &t->a, 0 };

	return drill_report_make(&said, r, err);
}

int run_tree_report(struct run_tree *t, struct tree_report *r, struct err *err)
{
	struct run_tree_plain of[2];

	if (t->is_made) {
		*r = t->made;
		return 0;
	}
	if (t->plain)
		return run_tree_plain(t, of, err) || run_tree_plain_line(t, of, r, err) ? -1 : 0;
	if (!t->drilling)
		return 0;
	return drill_results(&t->d, t->k, &t->a, 0, UINT64_MAX, err) || make_report(t, r, err) ? -1
											       : 0;
}

int run_tree_report_again(struct run_tree *t, struct tree_report *r, struct err *err)
{
	*r = (struct tree_report){ 0 };
	return t->drilling ? make_report(t, r, err) : 0;
}

int run_tree_interval(struct run_tree *t, uint64_t from, uint64_t to, struct tree_report *r,
		      struct err *err)
{
	struct drill_report said = { &t->cli->opt, &t->d, t->k, &t->a, 0 };
	struct err none = ERR_INIT;

	*r = (struct tree_report){ .head = { .time = (double)to / 1e9,
					     .seconds = (double)(to - from) / 1e9 } };
	if (!t->drilling)
		return 0;
	arena_reset(&t->a);
	if (drill_results(&t->d, t->k, &t->a, from, to, &none) ||
	    drill_report_interval(&said, r, &none)) {
		if (none.code == ERR_NOMEM) {
			*err = none;
			return -1;
		}
		give_up(t, &none);
		r->n_views = 0;
		return 0;
	}
	drill_latency_mark(&t->d, to);
	return 0;
}

unsigned run_tree_deeper(const struct run_tree *t)
{
	unsigned path = 0, deepest = 0;

	for (size_t i = 0; t->drilling && i < t->d.n_parts; i++) {
		const struct tree *x = &t->d.part[i].tree;
		uint32_t end = x->n ? tree_view_deepest(x) : MODEL_NONE;

		if (end != MODEL_NONE && x->model->metric[end].level > path)
			path = x->model->metric[end].level;
		for (size_t m = 0; m < x->n; m++)
			if (x->model->metric[m].level > deepest)
				deepest = x->model->metric[m].level;
	}
	if (!path || deepest < 2)
		return 0;
	return path < 2 ? 2 : path;
}

void run_tree_describe(const struct run_tree *t, struct buf *out)
{
	if (*t->why)
		buf_printf(out, "no tree: %s\n", t->why);
	if (t->drilling)
		for (size_t c = 0; c < t->d.n_cores; c++)
			plan_print(out, &t->d.core[c].plan, t->d.core[c].m, &t->d.core[c].limits);
	if (t->drilling)
		drill_latency_describe(out, &t->d);
	if (t->drilling || t->plain)
		counting_describe(out, t->k, t->drilling ? &t->d.setup : &t->plain_setup);
}

void run_tree_free(struct run_tree *t)
{
	drill_free(&t->d);
	event_list_free(&t->plain_events);
	arena_free(&t->a);
}
