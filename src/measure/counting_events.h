/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_events - `stat -e`: events as they were asked for, their values, and rates made of them.
 *
 *	counting_events_parse(&s, k, &err)	-e into groups of counters; s.setup is ready
 *	counting_events_start(s, k, &err)	a run; counting_next(), counting_finish()
 *	counting_events_rows(s, k, ...)		counts since the last `mark`, or all
 *	counting_events_free(&s)
 */
#ifndef CYCLADE_MEASURE_COUNTING_EVENTS_H
#define CYCLADE_MEASURE_COUNTING_EVENTS_H

#include "collect/event.h"
#include "measure/counting.h"
#include "measure/counting_per.h"
#include "measure/counts_row.h"
#include "measure/event_more.h"

struct event_place { /* where an event of the list stands among the groups */
	size_t group, index;
};

struct counting_events {
	struct event_list list;
	struct event_more more;
	struct event_place *at; /* by event of the list */
	struct counter_setup setup;
	const struct counting_place *place;
	size_t n_places, targets;
	struct counter_value **now, **mark; /* by group: [event * targets + target] */
	size_t n_asked; /* events of the list that were asked for; behind them: of other kinds of
			 * core, for the time spent there (counting_kinds_watch) */
	const uint32_t *shown; /* events that have a row: the first of boxes that add up */
	size_t n_shown;
	uint32_t *kind; /* by event of the list: the kind of core that counts it, from 1; 0: any */
	size_t n_kinds; /* 0: not a hybrid's tasks */
	uint64_t missing; /* events that this PMU lacks (alive_missing), by their codes: */
	const char *missing_of;
	bool cut_short; /* of several runs the last was interrupted, and is left out */
};

int counting_events_parse(struct counting_events *s, const struct counting *k,
			  struct err *err) MUST_USE;
/* counting_prepare() with these counters, which are read at the end of intervals and of the run.
 * After a failure, too, counting_finish() is due. */
int counting_events_start(struct counting_events *s, struct counting *k, struct err *err) MUST_USE;
int counting_events_take(struct counting_events *s, struct counting *k, struct err *err) MUST_USE;
/* Rows are of the counts from here on (an interval's start); `clear`: from nothing. */
void counting_events_mark(struct counting_events *s, bool clear);
/* Rows in `a`: one for each event on each place. `seconds`: length of the span. */
int counting_events_rows(const struct counting_events *s, const struct counting *k, struct arena *a,
			 double seconds, struct counts_row **out, size_t *n,
			 struct err *err) MUST_USE;
/* Lines worth saying below the rows. */
int counting_events_notes(const struct counting_events *s, const struct counting *k,
			  struct arena *a, const char *const **out, size_t *n,
			  struct err *err) MUST_USE;
void counting_events_free(struct counting_events *s);

/* counting_kinds.c. Adds an event to the list for each kind of core that none of them is for: how
 * long it ran is how long the task was there. Does nothing if whole CPUs count. */
int counting_kinds_watch(struct counting_events *s, const struct counting *k,
			 struct err *err) MUST_USE;
/* Whether the kernel refused one of those. */
bool counting_kinds_blind(const struct counting_events *s, const struct counting *k);
/* Which kinds of core the events are for; of the `enabled` ns of an event on a target, those that
 * the task spent on its kind of core (`marked`: since the last mark). */
int counting_kinds_find(struct counting_events *s, const struct counting *k,
			struct err *err) MUST_USE;
double counting_kinds_wanted(const struct counting_events *s, size_t event, size_t target,
			     double enabled, bool marked);
/* The event did not have a counter all of that time. */
bool counting_kinds_turns(const struct counting_events *s, size_t event, size_t target);

/* "0.98 CPUs", "1.32 per cycle": from the other rows of the same place. */
void counting_events_mean(const struct counting_events *s, struct arena *a, struct counts_row *row,
			  double seconds);

#endif
