/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule - which events count together: as few groups as possible, each of which fits the
 * counters.
 *
 *	schedule_make(&s, arena, model, &limits, sets, n, &err)
 *	schedule_more(&s, arena, model, &limits, have, n_have, sets, n, &err)
 *
 * The input is a list of sets (of a metric, for example, whose events should count together) over
 * events that each know the counters they can be on. A group fits if there is a matching of its
 * events to general and fixed counters (Kuhn's algorithm over bit masks), with the registers that
 * are few (OFFCORE_RSP, FRONTEND, load latency) not asked for twice with different values, with
 * slots before the metrics of PERF_METRICS, and without the counters that the NMI watchdog or
 * another process holds.
 *
 * A ratio of two events is better known if both counted the same slices of time, so a set stays in
 * one group if one can hold it; an event that several sets ask for may for that be in several
 * groups (cycles usually are: on their fixed counter they cost nothing).
 *
 * Two names for one encoding are one counter: a group that has one of them has both that are asked
 * for, and pays once.
 *
 * Sets are placed by best fit, and then groups are dissolved into the others while that succeeds,
 * from several orders. The effort is bounded by a count of steps, not by a clock: the same input
 * gives the same groups on any machine. A whole level-6 tree takes a few milliseconds.
 *
 * Pure: no files, no system calls. Results are in the arena.
 */
#ifndef CYCLADE_MODEL_SCHEDULE_H
#define CYCLADE_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

#define SCHEDULE_HELD 4

struct schedule_limits {
	unsigned counters, fixed; /* as the machine at hand has */
	bool smt;		  /* SMT is on: counters, else counters_alone, of each event */
	unsigned reserved; /* general counters that others hold; which ones is not known, so that a
			    * group must fit whichever they are */
	uint32_t taken;	   /* general counters that are known to be held */
	uint32_t fixed_taken;	/* fixed counters that others hold (the watchdog: cycles) */
	unsigned offcore;	/* registers: 2 */
	const uint32_t *beside; /* events that count all the time by themselves (a pinned group):
				 * groups fit beside them, and need not have them */
	size_t n_beside;
	/* Counters, fixed n at bit 32 + n: on one of each another program's event counts all the
	 * time, and the kernel moves it about as groups need. */
	uint64_t held[SCHEDULE_HELD];
	unsigned n_held;
	bool tried; /* schedule_limits_try() found the held counters, and of the general */
	unsigned general_held; /* counters how many */
};

struct schedule_set {	       /* events that should count together */
	const uint32_t *event; /* indices into the model's */
	size_t n;
	unsigned weight; /* sets of greater weight are placed first */
};

struct schedule_group {
	const uint32_t *event; /* in the order to open them in: a leader that must lead first */
	size_t n;
};

struct schedule {
	const struct schedule_group *group;
	size_t n_groups;
	size_t n_core; /* the first n_core groups take the core's counters, the others none of it:
			* software events and those of other PMUs, one group for each PMU */
	const uint32_t *home; /* by event of the model: its first group, or MODEL_NONE */
	/* By set: the group with all of its core events but those that count beside, or MODEL_NONE
	 * (split, or without such events). */
	const uint32_t *set_group;
	const uint32_t *impossible; /* events that fit no counter even alone */
	size_t n_impossible;
	const uint32_t *split; /* sets that no single group can hold: their metric mixes groups */
	size_t n_split;
};

/* The machine that will count; 0: not known. */
struct schedule_machine {
	bool smt;
	unsigned general, fixed; /* counters for one thread, from the CPU itself */
	bool watchdog;		 /* the NMI watchdog counts cycles */
	bool no_tsx_abort;	 /* counter 3 is kept for transactions (TSX force abort) */
};

/* The limits of a model on a machine. The watchdog's cycles are on their fixed counter if there is
 * one, so that ours fall to a general one; else on any general counter. */
void schedule_limits_of(struct schedule_limits *l, const struct model *m,
			const struct schedule_machine *at);

/* Counters that are ours: general n is bit n, fixed n bit 32 + n; of those that others hold without
 * a known place (`reserved`, `held`) all. */
uint64_t schedule_limits_avail(const struct schedule_limits *l);
/* The fixed ones of these: fixed n is bit n. */
uint32_t schedule_limits_fixed(const struct schedule_limits *l);
/* Returns true if another program has the only counter of slots. */
bool schedule_limits_no_slots(const struct schedule_limits *l, const struct model *m);

/* Something samples all the while: plain cycles (precise 0), cycles with PEBS at that precision, or
 * an event of which no more is known. Its counter is left to it. */
void schedule_limits_cycles(struct schedule_limits *l, const struct model *m, unsigned precise);
void schedule_limits_event(struct schedule_limits *l);

enum schedule_tried { SCHEDULE_NOT_TRIED, SCHEDULE_FITS, SCHEDULE_NO_ROOM };
struct schedule_try {
	/* Whether these events of the model, some of them several times, get onto the counters
	 * together now. */
	enum schedule_tried (*fits)(void *ctx, const uint32_t *event, size_t n);
	void *ctx;
};
/* Limits by the counters that are free now: a trial's result overrides the limits' assumption about
 * the watchdog. One group is tried if nothing is held, else some ten or twenty. */
void schedule_limits_try(struct schedule_limits *l, const struct model *m,
			 const struct schedule_try *how);

/* Returns true if these events fit together (and beside l->beside and l->held); else *why (static
 * text) names the rule broken. */
bool schedule_fits(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		   size_t n, const char **why);
/* Every event of every set is in a group, or impossible. A set that asks for fields of PERF_METRICS
 * gets the slots that must lead them. */
int schedule_make(struct schedule *out, struct arena *a, const struct model *m,
		  const struct schedule_limits *l, const struct schedule_set *set, size_t n,
		  struct err *err) MUST_USE;
/* The same, on top of groups that count anyway: they come first in the result, in their order, and
 * grow if they have room; further groups are made only for the rest. */
int schedule_more(struct schedule *out, struct arena *a, const struct model *m,
		  const struct schedule_limits *l, const struct schedule_group *have, size_t n_have,
		  const struct schedule_set *set, size_t n, struct err *err) MUST_USE;

#define SCHEDULE_FIXED	    32 /* counter numbers from here: fixed counter n - 32 */
#define SCHEDULE_NO_COUNTER 64 /* takes none: a field of PERF_METRICS, software, another PMU */

/* One way to put the events of a group on counters, for people to see (the kernel may choose
 * another, and does when others count, too). False if they do not fit. */
bool schedule_place(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		    size_t n, uint8_t *counter);

/* "cycles@f1 IDQ.MS_UOPS@0 ...": @ its counter, @f a fixed one. */
void schedule_print_group(struct buf *out, const struct model *m, const struct schedule_limits *l,
			  const uint32_t *event, size_t n);

#endif
