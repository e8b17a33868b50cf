/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --wait: what tells when threads ran and what they waited for. The event that records mappings
 * records switches, too (attr_opts.switches), which everybody may. Call chains at switches come
 * from the event context-switches, who woke whom from sched:sched_waking; they need rights, and are
 * left out with a line where these are missing.
 */
#include "measure/sampling/sampling_int.h"

/* Who wakes somebody: its innermost functions. Walking the kernel's part costs most of the event.
 */
#define WAKER_FRAMES 8

/* Whether the kernel would take it of this process. */
static bool may_open(const struct event *e)
{
	struct perf_event_attr a = e->attr;
	const struct attr_place here = { .cpu = -1, .group_fd = -1 };
	struct err err = ERR_INIT;
	unsigned given_up = 0;

	a.size = sizeof(a);
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	if (a.type == PERF_TYPE_TRACEPOINT)
		a.sample_type |= PERF_SAMPLE_RAW;
	return !attr_fit(&a, &here, &given_up, NULL, &err);
}

/* The event, if it may be; else the list is as it was. */
static bool add(struct sampling *r, const char *name)
{
	size_t n = r->events.ev.n;
	struct err err = ERR_INIT;
	struct event *e;

	if (event_parse(&r->events, r->k.root, name, &err) || r->events.ev.n != n + 1)
		return false;
	e = &r->events.ev.v[n];
	e->attr.sample_period = 1;
	e->has_period = true;
	e->call_graph = "fp";
	if (e->attr.type == PERF_TYPE_TRACEPOINT && !r->k.who.whole_cpus) {
		e->attr.exclude_callchain_kernel = 1;
		e->attr.sample_max_stack = WAKER_FRAMES;
	}
	if (r->ask.dry_run || may_open(e))
		return true;
	r->events.ev.n = n;
	return false;
}

void sampling_wait_events(struct sampling *r)
{
	if (r->ask.user_only || !add(r, "context-switches"))
		ask_news(&r->ask,
			 "no call chains at switches: what threads wait for is not known "
			 "(root, or sysctl kernel.perf_event_paranoid=1%s)",
			 r->ask.user_only ? ", and no --user" : "");
	if (!add(r, "sched:sched_waking"))
		ask_news(&r->ask, "no tracepoints: who wakes whom is not known, and waits include "
				  "the time until a CPU is free (root)");
	else if (!r->k.who.whole_cpus)
		ask_news(&r->ask, "only wake-ups by what is recorded: -a has those by timers, "
				  "devices and others");
}
