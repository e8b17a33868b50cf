/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * monitor - metrics of the whole machine, by CPU, L3 cache, memory channel and socket, interval
 * after interval.
 *
 *	monitor_run(&opts, &err)	until --for is over, a signal comes, or each() has enough
 *
 * or, in a loop of the caller's:
 *
 *	monitor_open(&m, &opts, &err)		it counts from now on
 *	monitor_turn(m, &err)			monitor_tick() ns after the last one
 *	monitor_take(m, &d, &err)		an interval ended: its document
 *	monitor_close(m)
 *
 * The metrics are data: rows of models/monitor and of the CPU's model (model/set.h). Their names
 * are counters of perf_event (the room measure counts them) and values of /proc. If a machine lacks
 * one, it is listed with its reason; the rest goes on.
 *
 * Counters are perf_event's, or with MONITOR_MSR those of AMD's registers (collect/msr.h).
 *
 * If a PMU has fewer counters than events, the monitor itself takes turns with them, in slices that
 * are even within an interval; a figure is then extrapolated, with the error that the slices'
 * spread gives it. If others hold counters, the kernel takes turns, too: the share of time is in
 * the table `counters`.
 *
 * Totals begin with 0 when the monitor does (those of /proc when the machine did) and only grow. An
 * interval in which its counter had no turn has no total either: the next one that it counts in
 * stands for both. On a hangup (if `rereads`), and when a CPU comes online, models and machine are
 * read anew, and totals begin anew; if a text is wrong, said() gets the reason and the old rows
 * stay. A CPU that goes offline has no values any more, and the reason; totals stay.
 *
 * Memory does not grow with time. One thread; each() is called in it.
 */
#ifndef CYCLADE_MONITOR_MONITOR_H
#define CYCLADE_MONITOR_MONITOR_H

#include "measure/measure_opts.h"
#include "show/document.h"

extern const struct document_form monitor_document;

struct monitor_opts {
	const struct measure_opts
		*opts; /* of it: interval (not 0), for_time, root, model; all is set */
	enum { MONITOR_AUTO, MONITOR_PERF, MONITOR_MSR } backend; /* auto: perf_event */
	struct text_list metrics; /* names, aliases, places, patterns; empty: all */
	bool rereads;		  /* a hangup (SIGHUP) does not end it */
	void (*said)(void *ctx, const char *text); /* may be NULL */
	struct text_list cgroups; /* patterns of paths below the hierarchy; empty: none */
	/* Counters of the cores belong to another program: metrics that need them have that as
	 * reason. */
	bool no_cores;
	/* The document of an interval; valid until over(). *enough: end. */
	int (*each)(void *ctx, struct document *d, bool *enough, struct err *err);
	/* The document of the last each() is about to change: another thread may read it until then
	 * (and nobody else meanwhile). `again`: the next one takes an interval, or longer; else it
	 * comes at once, or there is none. NULL: not reported. */
	void (*over)(void *ctx, bool again);
	void *ctx;
};

int monitor_run(const struct monitor_opts *opts, struct err *err) MUST_USE;

struct monitor;

/* `opts` must outlive it; each() is not called. */
int monitor_open(struct monitor **out, const struct monitor_opts *opts, struct err *err) MUST_USE;
uint64_t monitor_tick(const struct monitor *m); /* ns until the next turn; 0: none takes turns */
int monitor_turn(struct monitor *m, struct err *err) MUST_USE;
/* Opens the document; to be closed before the next interval ends. */
int monitor_take(struct monitor *m, struct document *d, struct err *err) MUST_USE;
void monitor_close(struct monitor *m); /* NULL is fine */

#endif
