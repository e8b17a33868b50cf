/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_latency - retire latencies for the tree: sampled beside the counting, else from the model's
 * table, else not known; the source is always shown.
 *
 *	drill_latency_plan(d, k, &err)		samplers, by --latency; opens nothing
 *	drill_latency_begin(d, k, &err)		a run's counters are open: so are the samplers
 *	drill_latency_apply(d, k, &err)		stages opened or closed
 *	drill_latency_switched(d, on, &err)	counting began or ended (counting's hook)
 *	drill_latency_follow(d, k, &err)	with each reading
 *	drill_latency_values(d, k, from)	each core's latency, latency_se, latency_why
 *	drill_latency_rows(d, arena, ...)	for people and programs to see
 *	drill_latency_free(d)
 *
 * A group of samplers is on while a stage that asks for one of its events is open. One mean serves
 * all places of a kind of core: sockets and threads do not have their own. If sampling is
 * impossible, that is a note, not a failure.
 *
 * A program's children inherit its samplers on machines of few CPUs. On others that would cost each
 * fork milliseconds: there tasks are looked for in /proc now and then, and those that live for less
 * than a moment are not sampled.
 *
 * Costs: the period of an event falls as its latency grows. Retire latencies do not overlap, so
 * that all samples together are some 20,000 a second at most, and on the counters only in turns.
 */
#ifndef CYCLADE_MEASURE_DRILL_LATENCY_H
#define CYCLADE_MEASURE_DRILL_LATENCY_H

#include "measure/counting.h"
#include "measure/drill.h"
#include "measure/tree_latency.h"

int drill_latency_plan(struct drill *d, const struct counting *k, struct err *err) MUST_USE;
int drill_latency_begin(struct drill *d, const struct counting *k, struct err *err) MUST_USE;
int drill_latency_apply(struct drill *d, const struct counting *k, struct err *err) MUST_USE;
int drill_latency_switched(struct drill *d, bool on, struct err *err) MUST_USE;
/* With each reading: samplers for tasks that were started meanwhile, if they do not inherit. */
int drill_latency_follow(struct drill *d, const struct counting *k, struct err *err) MUST_USE;
/* From samples since `from` if that is the last drill_latency_mark() and they are enough; else from
 * those of the run so far. */
void drill_latency_values(struct drill *d, const struct counting *k, uint64_t from);
void drill_latency_mark(struct drill *d, uint64_t now);
/* Of all runs (-r), for the report. */
void drill_latency_of_all_runs(struct drill *d);
/* DRILL_EACH: there is a group of samplers that an open stage asks for and that had no run yet; it
 * has the next one. */
bool drill_latency_next(struct drill *d);
/* Rows of the stages that were open. */
int drill_latency_rows(const struct drill *d, struct arena *a, const struct tree_latency **out,
		       size_t *n, struct err *err) MUST_USE;
/* A line on where they are from, and one on why not from samples; each may be NULL. */
const char *drill_latency_note(const struct drill *d, struct arena *a);
const char *drill_latency_why(const struct drill *d, struct arena *a);
/* --dry-run. */
void drill_latency_describe(struct buf *out, const struct drill *d);
void drill_latency_free(struct drill *d);

#endif
