/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_events - `stat -e`: events as they were asked for, their values, and what they mean.
 *
 *	counting_events_parse(&s, k, &err)	-e into groups of counters; s.setup is ready
 *	counting_events_take(s, k, &err)	a reading of everything
 *	counting_events_rows(s, k, ...)		what came since the last `mark`, or all of it
 *	counting_events_free(&s)
 */
#ifndef CYCLADE_CLI_COUNTING_EVENTS_H
#define CYCLADE_CLI_COUNTING_EVENTS_H

#include "cli/counting.h"
#include "cli/counting_per.h"
#include "cli/event_more.h"
#include "collect/event.h"
#include "report/counts.h"

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
	const uint32_t *shown; /* events that have a row: the first of boxes that add up */
	size_t n_shown;
	bool cut_short; /* of several runs the last was interrupted, and is left out */
};

int counting_events_parse(struct counting_events *s, const struct counting *k,
			  struct err *err) MUST_USE;
/* Once the targets are known. */
int counting_events_room(struct counting_events *s, size_t targets, struct err *err) MUST_USE;
int counting_events_take(struct counting_events *s, struct counting *k, struct err *err) MUST_USE;
/* What is read from now on counts from here (an interval's start); `clear`: from nothing. */
void counting_events_mark(struct counting_events *s, bool clear);
/* Rows in `a`: one for each event on each place. `seconds`: what the span lasted. */
int counting_events_rows(const struct counting_events *s, const struct counting *k, struct arena *a,
			 double seconds, struct counts_row **out, size_t *n,
			 struct err *err) MUST_USE;
/* Lines worth saying below the rows. */
int counting_events_notes(const struct counting_events *s, const struct counting *k,
			  struct arena *a, const char *const **out, size_t *n,
			  struct err *err) MUST_USE;
void counting_events_free(struct counting_events *s);

/* "0.98 CPUs", "1.32 per cycle": from the other rows of the same place. */
void counting_events_mean(const struct counting_events *s, struct arena *a, struct counts_row *row,
			  double seconds);

#endif
