/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * -g without a word or with `unwind`, and run: which way callers are found, and how much of the
 * stack is copied.
 *
 * Callers are found by unwinding while recording (sampling_unwind.c). Frame pointers are not tried
 * first: the C library of most distributions has none, so a look at the first chains would end in
 * copies anyway; where all have them, they miss the caller of whatever function has not set up its
 * frame yet; and they save little, since the kernel copies no more of a stack than there is.
 *
 * A copy of the usual 16 kB is enough for most programs; compilers and interpreters need more. A
 * counter's copies have one size for life, and counters that threads inherited cannot be opened
 * anew without losing some thread. So each event is opened twice, with copies of both sizes, and
 * one of the two counts: the larger until all stacks have fitted well into the usual size for a
 * while, then that, until a stack does not fit. In the file they are one event. The event that
 * records mappings is one apart, since it has to be on all the time.
 *
 * In a ring a copy takes the room that was asked for, however small the stack is: 16 MB hold the
 * larger ones of 60 ms at 4000 Hz. A ring has to have room for the samples of RING_NS, or some are
 * lost whenever the recorder waits for a CPU: if it has not, the frequency is lowered. If that
 * concerns the larger copies alone, as with the rings of users who are not root, the usual ones
 * come first. So they do with -a, where the tables of all programs are read at once, and rings fill
 * meanwhile.
 *
 * By frame pointers all the same, unless -g=unwind asks: events that sample every occurrence, or
 * nearly so, of which a copy each is too much; with --account and --keep, which have no room for
 * it; and on machines for which there is no unwinder.
 */
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "measure/sampling/sampling_int.h"

#define STACK_LARGE  65528u
#define SAMPLE_REST  512u      /* of a sample beside its copy */
#define RING_NS	     20000000u /* a time slice or two */
#define PERIOD_LEAST 100000u   /* events more often than that are not rare */
#define LOOK_CALM    256u      /* samples without a deep stack until copies are small again */
#define LOOK_MOST    (1u << 20)
#define FITS_WELL    4 /* a stack of 3/4 of the usual copy does */

static bool can_unwind(const struct sampling *r)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return r->path && !r->opts.account && !r->opts.keep;
#else
	(void)r;
	return false;
#endif
}

/* Whether the event samples something rare, or so many a second. */
static bool is_rated(const struct sampling *r, const struct event *e)
{
	uint64_t period = e->has_period		  ? e->attr.sample_period
			  : e->has_freq		  ? 0
			  : r->opts.period	  ? r->opts.period
			  : e->attr.sample_period ? e->attr.sample_period
						  : 0;

	if (e->attr.type == PERF_TYPE_TRACEPOINT || e->attr.type == PERF_TYPE_BREAKPOINT)
		return e->has_freq;
	return !period || period >= PERIOD_LEAST;
}

void sampling_ways_choose(struct sampling *r)
{
	if (!r->opts.call_graph)
		return;
	r->ways.chosen = r->path && !strcmp(r->opts.call_graph, "unwind");
	if (*r->opts.call_graph)
		return;
	r->ways.chosen = can_unwind(r);
	r->opts.call_graph = r->ways.chosen ? "unwind" : "fp";
	for (size_t i = 0; i < r->events.ev.n; i++) {
		struct event *e = &r->events.ev.v[i];

		if (!e->call_graph && !e->stack_size && !is_rated(r, e))
			e->call_graph = "fp";
	}
}

/* The samples a second that a ring has room for. */
static uint64_t rate_of_ring(const struct sampling *r, uint32_t stack)
{
	uint64_t ring = r->ring_bytes ? r->ring_bytes : RECORDER_RING;

	return ring * (1000000000u / RING_NS) / (stack + SAMPLE_REST) + 1;
}

/* *lowest: of the rates that had to be lowered, 0: none had. */
static void lower_rate(const struct sampling *r, struct perf_event_attr *a, uint64_t *lowest)
{
	uint64_t most = rate_of_ring(r, a->sample_stack_user);

	if (!r->ways.chosen || !a->freq || a->sample_freq <= most)
		return;
	a->sample_freq = most;
	if (!*lowest || most < *lowest)
		*lowest = most;
}

static bool copies(const struct sampling *r, size_t i)
{
	return r->fields.cut[i] & PERF_SAMPLE_STACK_USER && !sampling_wait_has(r, i);
}

static bool has_groups(const struct sampling *r)
{
	for (size_t i = 0; i < r->events.ev.n; i++)
		if (r->ev[i].group != (int)i)
			return true;
	return false;
}

bool sampling_ways_change(const struct sampling *r)
{
	return r->ways.chosen && !r->opts.stack_size;
}

static void add_large(struct sampling *r, size_t i)
{
	struct sampling_ways *w = &r->ways;
	size_t at = r->events.ev.n + w->n;
	struct recorder_event *e = &r->ev[at];

	*e = r->ev[i];
	e->group = (int)at;
	e->attr.sample_stack_user = STACK_LARGE;
	lower_rate(r, &e->attr, &w->large_rate);
	w->event[w->n++] = i;
}

/* Which counters a program's begin with. */
static void choose_first(struct sampling *r)
{
	struct sampling_ways *w = &r->ways;

	w->large = w->n && !w->large_rate && !sampling_whole(r);
	for (size_t k = 0; k < w->n; k++) {
		struct perf_event_attr *usual = &r->ev[w->event[k]].attr,
				       *large = &r->ev[r->events.ev.n + k].attr;

		large->enable_on_exec = w->large && usual->enable_on_exec;
		usual->enable_on_exec &= !w->large;
	}
}

int sampling_ways_plan(struct sampling *r, struct err *err)
{
	struct sampling_ways *w = &r->ways;
	uint64_t rate = 0;

	w->of = r;
	w->calm_wanted = LOOK_CALM;
	w->event = arena_alloc(r->arena, (r->events.ev.n + 1) * sizeof(*w->event));
	if (!w->event)
		return err_nomem(err);
	for (size_t i = 0; i < r->events.ev.n; i++) {
		if (!copies(r, i))
			continue;
		if (sampling_ways_change(r) && r->tells_alone && !has_groups(r))
			add_large(r, i);
		lower_rate(r, &r->ev[i].attr, &rate);
	}
	choose_first(r);
	if (rate && r->opts.freq)
		measure_news(&r->opts,
			     "-g copies stacks, of which the rings have room for %llu a second: "
			     "asked for that (-m, --stack-size; -g=fp copies none)",
			     (unsigned long long)rate);
	return 0;
}

size_t sampling_ways_event(const struct sampling *r, size_t i)
{
	return i < r->events.ev.n ? i : r->ways.event[i - r->events.ev.n];
}

/* ---- while it runs --------------------------------------------------------------------------- */

void sampling_ways_begin(struct sampling *r)
{
	struct sampling_ways *w = &r->ways;

	for (size_t i = 0; i < w->n; i++)
		recorder_hold(r->recorder, w->large ? w->event[i] : r->events.ev.n + i, true);
	w->was_large = w->large;
	w->on = r->k.nothing.enable_on_exec; /* else sampling_switch() sets it */
	r->sink.ways = w->n ? w : NULL;
}

/* The old ones first: counters that are to be on the PMU all the time might find no place beside
 * them. A task that has ended does not matter. */
static void apply_way(struct sampling *r)
{
	const struct sampling_ways *w = &r->ways;

	for (size_t i = 0; i < w->n; i++) {
		size_t usual = w->event[i], large = r->events.ev.n + i;

		recorder_hold(r->recorder, usual, w->large);
		recorder_hold(r->recorder, large, !w->large);
		if (!w->on)
			continue;
		(void)!recorder_switch(r->recorder, w->large ? usual : large, false, NULL);
		(void)!recorder_switch(r->recorder, w->large ? large : usual, true, NULL);
	}
}

static void change_way(struct sampling_ways *w, bool large)
{
	(void)pthread_mutex_lock(&w->lock);
	w->large = large;
	w->was_large |= large;
	apply_way(w->of);
	(void)pthread_mutex_unlock(&w->lock);
	/* a thread that began in between may have inherited neither, or both */
	w->again = true;
	w->calm = 0;
	if (large && w->calm_wanted < LOOK_MOST)
		w->calm_wanted *= 2;
}

void sampling_ways_round(struct sampling_ways *w)
{
	const struct unwound_look look = w->look;
	uint32_t usual = w->of->ev[w->event[0]].attr.sample_stack_user;

	w->look = (struct unwound_look){ 0 };
	if (w->again) {
		(void)pthread_mutex_lock(&w->lock);
		apply_way(w->of);
		(void)pthread_mutex_unlock(&w->lock);
		w->again = false;
	}
	if (!w->large) {
		if (look.cut)
			change_way(w, true);
		return;
	}
	w->calm = look.deepest > usual / FITS_WELL * (FITS_WELL - 1) ? 0 : w->calm + look.samples;
	if (w->calm >= w->calm_wanted)
		change_way(w, false);
}
