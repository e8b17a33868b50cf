/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --wait: records when threads ran and where they waited. The event that records mappings records
 * switches, too (attr_opts.switches), which needs no rights. Call chains at switches come from the
 * event context-switches, wakers from sched:sched_waking; both need rights, and are left out with a
 * message if these are missing.
 *
 * A chain costs the kernel ten times as much as a switch record. So each switch has one while there
 * are few; from WAIT_MANY a second on a CPU on, other counters of the same events are on in their
 * place: wake-ups without chains, and chains of every WAIT_EVERYth switch and wake-up of each
 * thread (of each CPU with -a). The draining thread changes them over, as it sees the switch
 * records go by. Chains that are unwound (-g) cost some 20 us of the recorder's time and a copy of
 * the stack each: then fewer switches are many.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

/* Who wakes somebody: its innermost functions. Walking the kernel's part costs most of the event.
 */
#define WAKER_FRAMES 8

#define WAIT_MANY	  5000u /* switches a second of a CPU */
#define WAIT_MANY_UNWOUND 1000u
#define WAIT_STACK	  8192u /* bytes of a copy: fewer than of samples, since there are more */
/* While there are that many every so manyth has a chain: a prime, which no loop of waits keeps step
 * with; and some of each thread, for those that seldom wait. */
#define WAIT_EVERY 61u
#define WAIT_FREQ  20u
#define LOOK_MANY  200u	      /* switches of a CPU, before it is judged whether they are many ... */
#define LOOK_NS	   500000000u /* ... and the time after which it is judged in any case */

bool sampling_may_open(const struct event *e)
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

enum how { CHAINS, SOME_CHAINS, RARE_CHAINS, NO_CHAINS };

/* Frame pointers lose the caller of the C library's functions, in which threads wait. */
static bool unwinds(const struct sampling *r)
{
	return r->path && r->opts.call_graph && !strcmp(r->opts.call_graph, "unwind");
}

/* How chains of waits are made: now, later, or by the kernel. */
static const char *unwinding(const struct sampling *r)
{
	if (unwinds(r))
		return "unwind";
	return r->opts.call_graph && !strcmp(r->opts.call_graph, "dwarf") ? "dwarf" : "fp";
}

static bool is_switch(const struct event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE &&
	       e->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

/* The event, if it may be; else the list is as it was. */
static bool add_wait_event(struct sampling *r, const char *name, enum how how)
{
	size_t n = r->events.ev.n;
	struct err err = ERR_INIT;
	struct event *e;

	if (event_parse(&r->events, r->k.root, name, &err) || r->events.ev.n != n + 1)
		return false;
	e = &r->events.ev.v[n];
	e->attr.sample_period = how == SOME_CHAINS   ? WAIT_EVERY
				: how == RARE_CHAINS ? WAIT_FREQ
						     : 1;
	e->has_freq = how == RARE_CHAINS;
	e->has_period = !e->has_freq;
	e->call_graph = how == NO_CHAINS ? "no" : is_switch(e) ? unwinding(r) : "fp";
	if (*e->call_graph != 'f' && how != NO_CHAINS && !r->opts.stack_size)
		e->stack_size = WAIT_STACK;
	if (e->attr.type == PERF_TYPE_TRACEPOINT && !r->k.who.whole_cpus && how != NO_CHAINS) {
		e->attr.exclude_callchain_kernel = 1;
		e->attr.sample_max_stack = WAKER_FRAMES;
	}
	if (r->opts.dry_run || sampling_may_open(e))
		return true;
	r->events.ev.n = n;
	return false;
}

/* One that is on from the beginning, or while there are many switches. */
static bool add_to(struct sampling *r, const char *name, enum how how, bool many)
{
	struct wait_change *w = &r->wait;
	size_t i = r->events.ev.n;

	if (!add_wait_event(r, name, how))
		return false;
	if (many)
		w->many[w->n_many++] = i;
	else
		w->few[w->n_few++] = i;
	return true;
}

void sampling_wait_events(struct sampling *r)
{
	const char *chains = r->opts.wait_chains ? r->opts.wait_chains : "auto";
	bool none = *chains == 'n', thin = !none && chains[1] == 'u', user = r->opts.user_only;

	if (!none && (user || !add_to(r, "context-switches", CHAINS, false)))
		measure_news(&r->opts,
			     "no call chains at switches: what threads wait for is not known "
			     "(root, or sysctl kernel.perf_event_paranoid=1%s)",
			     user ? ", and no --user" : "");
	if (!add_to(r, "sched:sched_waking", none ? NO_CHAINS : CHAINS, false))
		measure_news(&r->opts,
			     "no tracepoints: who wakes whom is not known, and waits include "
			     "the time until a CPU is free (root)");
	else if (!r->k.who.whole_cpus)
		measure_news(&r->opts, "only wake-ups by what is recorded: -a has those by timers, "
				       "devices and others");
	if (!thin || !r->wait.n_few)
		return;
	for (size_t i = 0, n = r->wait.n_few; i < n; i++) {
		const char *name = r->events.ev.v[r->wait.few[i]].name;

		if (!add_to(r, name, SOME_CHAINS, true) ||
		    !add_to(r, name, strchr(name, ':') ? NO_CHAINS : RARE_CHAINS, true)) {
			r->events.ev.n = r->wait.few[n - 1] + 1; /* one failed: none of them */
			r->wait.n_many = 0;
			return;
		}
	}
}

static bool is_in(const size_t *v, size_t n, size_t i)
{
	size_t k = 0;

	while (k < n && v[k] != i)
		k++;
	return k < n;
}

bool sampling_wait_has(const struct sampling *r, size_t i)
{
	const struct wait_change *w = &r->wait;

	return is_in(w->many, w->n_many, i) || is_in(w->few, w->n_few, i);
}

/* Where samples have their period, the kernel makes one of each event of software, whatever the
 * period. And where several events of software sample the same switch, kernels (6.18) give all the
 * id of the first: so these have the same fields. */
void sampling_wait_attr(const struct sampling *r, size_t i, struct perf_event_attr *a)
{
	const struct wait_change *w = &r->wait;
	bool many = is_in(w->many, w->n_many, i);

	/* when each CPU's counter was switched on: halted time is that in which it did not count */
	if (r->opts.wait && r->k.who.whole_cpus && a->type == PERF_TYPE_HARDWARE &&
	    (a->config & UINT32_MAX) == PERF_COUNT_HW_REF_CPU_CYCLES) {
		a->sample_type |= PERF_SAMPLE_READ;
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
	if (!many && !is_in(w->few, w->n_few, i))
		return;
	if (a->type == PERF_TYPE_SOFTWARE && sampling_looks_register()) {
		a->sample_type |= PERF_SAMPLE_REGS_USER;
		a->sample_regs_user |= sampling_looks_register();
	}
	if (!w->n_many)
		return;
	if (many)
		a->enable_on_exec = 0;
	if (a->type == PERF_TYPE_SOFTWARE || (!a->freq && a->sample_period > 1))
		a->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* The new ones first: a switch that both record does no harm, one that none records does. */
static int apply_wait_change(struct sampling *r, struct err *err)
{
	const struct wait_change *w = &r->wait;

	for (int on = 1; on >= 0; on--) {
		const size_t *v = w->is_many == (on != 0) ? w->many : w->few;
		size_t n = w->is_many == (on != 0) ? w->n_many : w->n_few;

		for (size_t i = 0; i < n; i++)
			if (recorder_switch(r->recorder, v[i], on != 0, err))
				return -1;
	}
	return 0;
}

int sampling_wait_begin(struct sampling *r, struct err *err)
{
	struct wait_change *w = &r->wait;

	if (!w->n_many)
		return 0;
	if (switch_counts_begin(&w->switches, r, counting_clock(), err))
		return -1;
	if (!w->switches.n_cpus)
		return 0;
	w->on = r->k.nothing.enable_on_exec; /* else sampling_wait_on() sets it */
	r->sink.switches = w;
	return 0;
}

int sampling_wait_on(struct sampling *r, bool on, struct err *err)
{
	struct wait_change *w = &r->wait;
	int rc = 0;

	if (!w->n_many)
		return 0;
	(void)pthread_mutex_lock(&w->lock);
	w->on = on;
	if (on)
		rc = apply_wait_change(r, err); /* all are on now */
	(void)pthread_mutex_unlock(&w->lock);
	return rc;
}

/* A task that has ended needs no change. */
void sampling_wait_round(struct wait_change *w)
{
	struct sampling *r = w->of;
	uint64_t now = counting_clock(), passed = now - w->switches.since;
	uint32_t most = unwinds(r) ? WAIT_MANY_UNWOUND : WAIT_MANY;
	bool many = w->switches.most > (double)passed * 1e-9 * most;

	if (passed < LOOK_NS && (w->is_many || !many || w->switches.most < LOOK_MANY))
		return;
	switch_counts_restart(&w->switches, now);
	if (many == w->is_many)
		return;
	(void)pthread_mutex_lock(&w->lock);
	if (w->on) {
		w->is_many = many;
		(void)!apply_wait_change(r, NULL);
	}
	(void)pthread_mutex_unlock(&w->lock);
}

void sampling_wait_end(struct sampling *r)
{
	r->sink.switches = NULL;
	switch_counts_end(&r->wait.switches);
}
