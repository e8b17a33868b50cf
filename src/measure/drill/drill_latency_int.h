/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_latency_int - sampling (drill_latency.c) and its rows and notes (drill_latency_report.c).
 */
#ifndef CYCLADE_MEASURE_DRILL_LATENCY_INT_H
#define CYCLADE_MEASURE_DRILL_LATENCY_INT_H

#include "collect/latency.h"
#include "measure/counting_events.h"
#include "measure/drill_latency.h"

#define BATCHES_MAX 16u
#define TASKS_MAX   64u

enum latency_wish { WISH_AUTO, WISH_SAMPLE, WISH_STATIC, WISH_OFF };

struct latency_use {
	struct latency_value value; /* of the samples */
	enum tree_latency_source source;
	const char *why; /* not sampled; NULL: it is. Lives as long as the drill */
};

struct latency_core {
	uint32_t *at;		 /* by event: of drill_latency.event, UINT32_MAX: not sampled */
	struct latency_use *use; /* by event */
};

struct latency_group { /* of the plan: drill_latency.event[first], n of them */
	size_t core;
	const struct plan_group *plan;
	size_t first, n;
	bool on;
	bool done; /* DRILL_EACH: it had its run */
};

struct drill_latency {
	enum latency_wish wish;
	struct event_list list;
	struct latency_event *event;
	size_t n;
	struct latency_group *group;
	size_t n_groups;
	struct latency_core core[4];	    /* as the drill's */
	struct latency *l[1 + BATCHES_MAX]; /* while a run lasts, and until the next; [1...]: of
					     * tasks that came later */
	size_t n_l;
	pid_t task[TASKS_MAX]; /* that are sampled one by one */
	size_t n_tasks;
	bool follows;		       /* and those that they start are looked for */
	uint64_t next_look, look_step; /* ns since the run began */
	struct latency_sums *now, *mark, *ended, *room; /* by event; ended: runs before this one */
	uint64_t marked;				/* when `mark` was taken */
	size_t each;					/* DRILL_EACH: the group that samples */
	bool stopped;
	const char *failed; /* why nothing is sampled */
};

/* drill_latency_open.c: reads this run's samples, to l->now; nothing more comes after `stop`. */
void drill_latency_read(struct drill_latency *l, bool stop);
/* errno with which the kernel refused an event, or 0. */
int drill_latency_refused(const struct drill_latency *l, size_t event);

#endif
