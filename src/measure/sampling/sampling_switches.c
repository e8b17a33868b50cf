/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits of `run`: switch records of the program's threads, which need no rights. It must not cost
 * the program 1 % of its time, so they have a budget of switches a second of a CPU: a CPU that used
 * more pauses until it is within the budget again. A switch takes 0.3 us with all that its records
 * cause.
 *
 * The two records of a pause, as if the kernel had throttled the event, are ours: without them a
 * thread would seem to have waited, or run, all the time. The functions in which threads wait are
 * sampled apart (sampling_wchan.c).
 *
 * Not with --delay and --control: these measure only part of the program's time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

#define RECORDS_MOST 8000u     /* switches a second of a CPU ... */
#define RECORDS_ALL  24000u    /* ... and of all CPUs: those who look at them later have to, too */
#define SPARE_NS     50000000u /* so long after a pause, or the start, more are no harm */
#define LOOK_NS	     1000000000u /* unused budget is forgotten after that */
#define SWITCH_COST  100u /* a pause is so many times as long as it takes to switch counters */

static bool add_switch_event(struct sampling *r, const char *text, const char *name,
			     const char *chain, size_t *at)
{
	size_t n = r->events.ev.n;
	struct err err = ERR_INIT;
	struct event *e;

	*at = SIZE_MAX;
	if (event_parse(&r->events, r->k.root, text, &err) || r->events.ev.n != n + 1)
		return false;
	e = &r->events.ev.v[n];
	e->attr.sample_period = 1;
	e->has_period = true;
	e->has_freq = false;
	e->call_graph = chain;
	e->name = arena_strdup(r->arena, name);
	if (e->name && (r->opts.dry_run || sampling_may_open(e))) {
		*at = n;
		return true;
	}
	r->events.ev.n = n;
	return false;
}

void sampling_switch_events(struct sampling *r)
{
	const struct measure_opts *o = &r->opts;
	struct switch_watch *w = &r->switches;

	w->event = SIZE_MAX;
	if (!o->switches || o->delay || o->control || o->cpu || r->k.who.whole_cpus ||
	    sampling_memory_by_cpu(r))
		return;
	(void)add_switch_event(r, "dummy/period=1/u", "dummy:u", "no", &w->event);
}

bool sampling_watches(const struct sampling *r)
{
	return r->opts.switches && r->switches.event != SIZE_MAX;
}

void sampling_switch_attr(const struct sampling *r, size_t i, struct perf_event_attr *a)
{
	if (!sampling_watches(r) || i != r->switches.event)
		return;
	a->sample_type &= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID | PERF_SAMPLE_TID |
			  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	a->context_switch = 1;
}

/* By the clock of the samples. */
static uint64_t switch_clock(const struct sampling *r)
{
	return sampling_clock(r->ev[0].attr.clockid);
}

int sampling_switch_begin(struct sampling *r, struct err *err)
{
	struct switch_watch *w = &r->switches;

	if (!sampling_watches(r) || !r->ev[0].attr.use_clockid)
		return 0;
	if (switch_counts_begin(&w->switches, r, switch_clock(r), err))
		return -1;
	if (!w->switches.n_cpus)
		return 0;
	w->of = r;
	r->sink.watch = w;
	return 0;
}

/* THROTTLE and UNTHROTTLE: the time, the counter's id twice, the end of a record of its event. */
static int put_pause(struct switch_watch *w, uint32_t type, uint64_t time, struct err *err)
{
	struct sampling *r = w->of;
	const struct perf_event_attr *a = &r->ev[w->event].attr;
	size_t n, size = 32 + attr_trailer(a);
	const uint64_t *id = recorder_ids(r->recorder, w->event, &n);
	uint8_t b[32 + 64] = { 0 };

	if (!n || size > sizeof(b))
		return 0;
	st32(b, type);
	st32(b + 4, (uint32_t)size << 16);
	st64(b + 8, time);
	st64(b + 16, id[0]);
	st64(b + 24, id[0]);
	if (a->sample_type & PERF_SAMPLE_TIME)
		st64(b + 32 + (a->sample_type & PERF_SAMPLE_TID ? 8 : 0), time);
	if (a->sample_type & PERF_SAMPLE_IDENTIFIER)
		st64(b + size - 8, id[0]);
	return pdw_data(r->sink.writer, b, size, err);
}

/* A task that has ended meanwhile does not matter. How long it took. */
static uint64_t switch_to(struct switch_watch *w, bool on)
{
	uint64_t from = switch_clock(w->of);

	(void)!recorder_switch(w->of->recorder, w->event, on, NULL);
	w->paused = !on;
	return switch_clock(w->of) - from;
}

static int pause_records(struct switch_watch *w, uint64_t now, uint64_t until, struct err *err)
{
	uint64_t took;

	if (put_pause(w, PERF_RECORD_THROTTLE, now, err))
		return -1;
	took = switch_to(w, false);
	w->until = until > now + took * SWITCH_COST ? until : now + took * SWITCH_COST;
	return 0;
}

static int resume_records(struct switch_watch *w, struct err *err)
{
	(void)switch_to(w, true);
	return put_pause(w, PERF_RECORD_UNTHROTTLE, switch_clock(w->of), err);
}

/* When so many were due. */
static uint64_t due(const struct switch_watch *w, uint64_t n, uint32_t a_second)
{
	return w->switches.since + n * 1000000000u / a_second;
}

int sampling_switch_round(struct switch_watch *w, bool *wrote, struct err *err)
{
	uint64_t now = switch_clock(w->of), until, all;

	*wrote = false;
	if (w->paused) {
		if (now < w->until)
			return 0;
		switch_counts_restart(&w->switches, now);
		*wrote = true;
		return resume_records(w, err);
	}
	until = due(w, w->switches.most, RECORDS_MOST);
	all = due(w, w->switches.all, RECORDS_ALL);
	until = until > all ? until : all;
	if (until > now + SPARE_NS) {
		*wrote = true;
		return pause_records(w, now, until, err);
	}
	if (now > w->switches.since + LOOK_NS)
		switch_counts_restart(&w->switches, now);
	return 0;
}

void sampling_switch_end(struct sampling *r)
{
	r->sink.watch = NULL;
	switch_counts_end(&r->switches.switches);
}
