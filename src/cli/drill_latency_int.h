/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_latency_int - sampling (drill_latency.c) and what is said of it (drill_latency_report.c).
 */
#ifndef CYCLADE_CLI_DRILL_LATENCY_INT_H
#define CYCLADE_CLI_DRILL_LATENCY_INT_H

#include "cli/counting_events.h"
#include "cli/drill_latency.h"
#include "collect/latency.h"

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
	struct latency_core core[4];		 /* as the drill's */
	struct latency *l;			 /* while a run lasts, and until the next */
	struct latency_sums *now, *mark, *ended; /* by event; ended: runs before this one */
	uint64_t marked;			 /* when `mark` was taken */
	size_t each;				 /* DRILL_EACH: the group that samples */
	bool stopped;
	const char *failed; /* why nothing is sampled */
};

#endif
