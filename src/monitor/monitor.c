/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/monitor.h"

#include <string.h>

#include "measure/drill.h"
#include "measure/event_more.h"
#include "measure/model_choice.h"
#include "monitor/monitor_int.h"

static int opened(void *ctx, struct counting *k, struct err *err)
{
	(void)k;
	return monitor_opened(ctx, err);
}

static int read_turns(void *ctx, struct counting *k, struct err *err)
{
	(void)k;
	return monitor_read(ctx, true, err);
}

static uint64_t tick(void *ctx)
{
	return monitor_tick(ctx);
}

static int interval(void *ctx, struct counting *k, struct err *err)
{
	struct monitor *m = ctx;
	struct document d;
	int rc;

	if (k->now <= m->began) /* the end came with an interval's */
		return 0;
	if (monitor_interval(m, err))
		return -1;
	document_open(&d, &monitor_document, m);
	monitor_put(&d, m);
	rc = m->ask->each(m->ask->ctx, &d, &k->enough, err);
	document_close(&d);
	return rc;
}

/* The model is one of the machine at hand; without, what any machine has is left. */
static int load(struct monitor *m, struct err *err)
{
	const struct model_choice *c = &m->ask->ask->model;
	struct model_sources sources = model_choice_sources(c);
	struct err why = ERR_INIT;

	drill_facts(m->system, &(struct drill){ .root = m->k.root }, &m->k);
	if (model_choice_load(c, &m->k.machine, NULL, m->system, &m->model, &why)) {
		if (why.code != ERR_NOT_FOUND && why.code != ERR_UNSUPPORTED) {
			*err = why;
			return -1;
		}
		m->model = NULL;
		m->model_why = arena_strdup(m->a, why.what);
	}
	return set_load(&m->set, m->a, &sources, m->model ? m->model->id : NULL, err);
}

static void close_all(struct monitor *m)
{
	for (size_t i = 0; i < PLACES; i++) {
		vec_free(&m->of[i].place);
		vec_free(&m->of[i].column);
	}
	vec_free(&m->source);
	vec_free(&m->input);
	vec_free(&m->metric);
	vec_free(&m->group);
	vec_free(&m->turns);
	event_list_free(&m->list);
	model_free(m->model);
	msr_close(m->msr);
	counting_close(&m->k);
}

static int open_msr(struct monitor *m, struct err *err)
{
	if (msr_open(&m->msr, m->a, m->k.root, &m->k.machine, m->k.who.cpus.v, m->k.who.cpus.n,
		     err) ||
	    msr_pmus(m->msr, &m->list, err))
		return -1;
	m->setup.backend = &counter_msr;
	m->setup.backend_ctx = m->msr;
	return 0;
}

int monitor_run(const struct monitor_ask *ask, struct err *err)
{
	struct monitor m = { .ask = ask, .a = ask->ask->a, .list = EVENT_LIST_INIT };
	const struct counting_hooks hooks = {
		.opened = opened, .read = read_turns, .tick = tick, .interval = interval, .ctx = &m
	};
	struct event_more more = { 0 };
	int rc = -1;

	if (counting_open(&m.k, ask->ask, "monitor",
			  MACHINE_MODEL | MACHINE_TOPOLOGY | MACHINE_PMUS | MACHINE_KNOBS, err) ||
	    load(&m, err))
		goto out;
	m.list.more = event_more(&more, &ask->ask->model);
	if (ask->backend == MONITOR_MSR && open_msr(&m, err))
		goto out;
	if (monitor_places(&m, err) || monitor_set(&m, err))
		goto out;
	rc = counting_run(&m.k, &m.setup, &hooks, err);
out:
	event_more_free(&more);
	close_all(&m);
	return rc;
}
