/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices - from readings of counter groups that took turns to counts of the whole time.
 *
 *	slices_new(&s, &setup, &err)		the groups, before anything counts
 *	slices_add(s, group, t, readings, &err)	each time a group was read
 *	slices_counts(s, arena, from, to, &counts, &err)
 *						for tree_eval: any interval, as often as wanted
 *	slices_counts_since(s, arena, since, from, to, &counts, &err)
 *						the same, with the errors of a longer stretch
 *	slices_switch(s, group, t, state, &err)	when a group is switched on or off
 *	slices_counts_when(...)			counts of the time in which groups were on
 *	slices_free(s)
 *
 * Between two readings of a group lies a slice. The rate of a target in a slice is its count
 * divided by the time on the counters; it applies to the time that the target ran in this slice.
 * The whole is the sum over slices, so a program that changes its behaviour is not replaced by its
 * average, as one value * enabled / running for the whole would do. A slice in which the group was
 * never on a counter is filled from the slices beside it. Time for which a group was switched off
 * is filled from random visits (SLICES_VISIT), each of which stands for the time off around it;
 * they are a sample of their own, since the time that the group is on was not chosen at random.
 * Without a visit that time is filled from the slices beside it, and the error grows by the change
 * that the other groups saw between the two stretches. `counted` shows how little was seen.
 *
 * The error comes from how much neighbouring slices differ (half their squared difference, von
 * Neumann's estimate, which a slow drift does not inflate), less the share that was on the
 * counters: a group that always counted has error 0. If slices two apart differ more than
 * neighbours do, the program's phases last longer than a slice: then most of that was seen, and is
 * no error. Differences are summed over targets first, so targets that change their ways together
 * do not hide it; events of one group share slices, which gives their covariance. Few slices:
 * Student's factor for their number is in the matrix, so that 1.96 times the root is 95 % all the
 * same. A group of few slices may have seen one phase of a program alone, and its slices are alike:
 * its errors are at least the change that all groups together saw (slices/slices_few.c). Fewer than
 * SLICES_FEWEST: no matrix, but counts.no_error.
 *
 * Events that are in several groups (cycles in all of them, for example) are pooled over these, and
 * become one more group of the result, the last: one group or another counts at any time, so they
 * are known nearly exactly. An event of one group alone is then estimated by its ratio to such an
 * event within its group, if that explains it: its count is that ratio times the whole, and its
 * error is that of the ratio.
 *
 * Not seen by any of this: a program whose period is just that of the groups' turns, if these come
 * in equal distances. rounds.h has turns by chance.
 *
 * How often to read: one slice should hold a turn of each of the groups (some 4 ms), and
 * a run some 30 slices. All groups should be read at the same times. Memory stays within max_bytes:
 * when it is full every second reading of the older half is forgotten.
 * Not safe for two threads at once. Costs: slices_add a copy; slices_counts one pass over all.
 */
#ifndef CYCLADE_MODEL_SLICES_H
#define CYCLADE_MODEL_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/counts.h"

#define SLICES_FEWEST 4 /* fewer slices on the counters than that give no error bar */

struct slices;

struct slices_group {
	const uint32_t *event; /* indices of the model */
	size_t n;
	const bool
		*stepped; /* by event of this group: a field of PERF_METRICS, of which the group's
			      * first event is the slots; NULL: none */
};

struct slices_setup {
	const struct slices_group *group; /* copied */
	size_t n_groups;
	size_t n_events;  /* of the model */
	size_t n_targets; /* tree_counts.n_lps */
	uint64_t start;	  /* ns: counters were opened, all of them at 0 */
	size_t max_bytes; /* 0: 64 MB */
};

/* The kernel's figures: since opening, not since the last reading. A value that is less than the
 * last one was reset in between. */
struct slices_reading {
	uint64_t value, enabled, running;
	bool missing; /* could not be opened, or is gone: never counted, or keeps its last count */
};

/* How a group is meant to count. One that is never switched is SLICES_ON. */
enum slices_state {
	SLICES_ON,
	SLICES_OFF,
	/* on for a moment that was drawn at random, to sample the time while it is off: it stands
	 * for the time off around it */
	SLICES_VISIT,
};

int slices_new(struct slices **out, const struct slices_setup *setup, struct err *err) MUST_USE;
/* r[event of the group * n_targets + target]. `t`: ns, never less than this group's last; two
 * readings at the same time: the second replaces the first. */
int slices_add(struct slices *s, size_t group, uint64_t t, const struct slices_reading *r,
	       struct err *err) MUST_USE;
/* From `t` on (not before this group's last reading) the group is in this state. */
int slices_switch(struct slices *s, size_t group, uint64_t t, enum slices_state to,
		  struct err *err) MUST_USE;
/* Groups that are off are not read: gives them a reading of the same time as the latest of all, so
 * that an interval can end, and the next begin, there. */
int slices_catch_up(struct slices *s, struct err *err) MUST_USE;
/* Fills out's count, n_lps, counted, groups with their matrices, quantum and no_error; latency,
 * latency_se and system are left as they are. Matrices and reasons are in arena memory, the others
 * the slices' own, until the next counts of it. Groups are those of the setup, and one more of the
 * events that several of them have. An interval begins and ends at the nearest
 * readings. An event that never counted in it is NAN. All: 0, UINT64_MAX. */
int slices_counts(struct slices *s, struct arena *a, uint64_t from, uint64_t to,
		  struct tree_counts *out, struct err *err) MUST_USE;
/* For short intervals, one or two slices each: how much slices differ, and which shared events
 * estimate the others, comes from [since, to]; the counts are those of [from, to]. Relative
 * variance goes as one over the time. Changes from one interval to the next widen the error bars,
 * too: they are not too narrow. */
int slices_counts_since(struct slices *s, struct arena *a, uint64_t since, uint64_t from,
			uint64_t to, struct tree_counts *out, struct err *err) MUST_USE;
/* Counts of the time in [from, to] in which each of these groups was on, in the form of
 * slices_counts(). */
struct slices_seen {
	double time, all; /* ns that the targets ran: in that time, and in [from, to] */
	unsigned visits;  /* how many random moments are in it */
};
int slices_counts_when(struct slices *s, struct arena *a, const uint32_t *group, size_t n,
		       uint64_t from, uint64_t to, struct tree_counts *out,
		       struct err *err) MUST_USE;
void slices_when_seen(const struct slices *s, const uint32_t *group, size_t n, uint64_t from,
		      uint64_t to, struct slices_seen *out);
void slices_free(struct slices *s); /* NULL is fine */

#endif
