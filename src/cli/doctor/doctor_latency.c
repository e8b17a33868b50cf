/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor_latency - whether the retire latencies can be sampled that this CPU's formulas ask for.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/model_choice.h"
#include "collect/event.h"

struct asked {
	const struct model *m;
	bool *event; /* by event */
};

static int ask_latency(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct asked *a = ctx;

	if (kind == EXPR_LATENCY)
		a->event[index] = true;
	return 0;
}

/* How many events' latencies are asked for; *first is one of them, *table how many have a mean that
 * the vendor measured. */
static size_t asked_events(struct doctor *d, const struct model *m,
			   const struct model_event **first, size_t *table)
{
	struct asked a = { m, arena_alloc(d->a, m->n_events + 1) };
	size_t n = 0;

	*table = 0;
	for (size_t i = 0; a.event && i < m->n_metrics; i++)
		if (m->metric[i].expr)
			(void)expr_needs(m->metric[i].expr, NULL, ask_latency, &a);
	for (size_t i = 0; a.event && i < m->n_events; i++) {
		if (!a.event[i])
			continue;
		*first = n++ ? *first : &m->event[i];
		*table += isnan(m->event[i].latency) ? 0u : 1u;
	}
	return n;
}

/* errno of opening it as stat's sampler does. */
static int try_sampler(struct doctor *d, const struct machine_pmu *pmu, const struct model_event *e)
{
	struct event_list list = EVENT_LIST_INIT;
	const char *text = arena_printf(d->a, "%s/%s/", pmu->name, e->code);
	int number = ENOENT;

	if (text && !event_parse(&list, d->root, text, NULL) && list.ev.n) {
		struct perf_event_attr attr = list.ev.v[0].attr;

		attr.size = sizeof(attr);
		attr.sample_period = 100003;
		attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT_STRUCT;
		attr.precise_ip = 1;
		attr.disabled = attr.exclude_kernel = attr.exclude_hv = 1;
		number = doctor_try_event(attr, 0, -1);
	}
	event_list_free(&list);
	return number;
}

static bool older_than(const char *release, unsigned major, unsigned minor)
{
	unsigned a, b;

	return release && sscanf(release, "%u.%u", &a, &b) == 2 &&
	       (a < major || (a == major && b < minor));
}

static void limit_latency(struct doctor *d, struct finding *f, size_t n, size_t table,
			  const char *fix)
{
	f->verdict = VERDICT_LIMIT;
	if (table == n)
		f->effect = "the model's table stands in";
	else if (table)
		f->effect = arena_printf(d->a, "the model's table stands in for %zu", table);
	else
		f->effect = "metrics that need them are not measured";
	f->fix[0] = fix;
}

void check_latency(struct doctor *d, struct finding *f)
{
	const struct machine_pmu *pmu = doctor_core_pmu(d);
	const struct model_event *e = NULL;
	struct model *m;
	size_t n, table;
	int number;

	f->verdict = VERDICT_NONE;
	f->state = "needs a PMU, and a model of this CPU";
	if (!pmu || cli_model(d->cli, &d->m, pmu->name, &m, NULL))
		return;
	n = asked_events(d, m, &e, &table);
	f->state = arena_printf(d->a, "no formula of model %s asks for any", m->id);
	if (!n)
		goto out;
	if (!d->live) {
		f->state = arena_printf(d->a, "of %zu events (not tried)", n);
		goto out;
	}
	f->verdict = VERDICT_OK;
	number = try_sampler(d, pmu, e);
	f->state =
		number ? arena_printf(d->a, "of %zu events; %s: %s", n, e->name, err_number(number))
		       : arena_printf(d->a, "of %zu events, by precise samples", n);
	if (older_than(d->m.release, 6, 3))
		limit_latency(d, f, n, table, "Linux 6.3 or newer hands them over");
	else if (number && d->m.hypervisor)
		limit_latency(d, f, n, table,
			      "the host must hand on PEBS: KVM of Linux 6.0 or newer");
	else if (number)
		limit_latency(d, f, n, table, "look at the check `precise`");
out:
	model_free(m);
}
