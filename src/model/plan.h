/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan - from the metrics that are wanted to groups of events that must count.
 *
 *	plan_make(&p, arena, model, &limits, &wish, &err)
 *
 * A plan has stages: groups of stage 0 (level 1, the metrics asked for by name) always count. Each
 * further stage hangs under a node (`under`) and counts only while that node is open (tree_open).
 * Stages share groups if events are the same; a group with a home in an open stage is never counted
 * twice. With wish.all there is only stage 0.
 *
 * The events of an open node are first looked up in the groups that count anyway (of stage 0 and of
 * the stages above it), and room left in those is used before a group is added. So a stage may have
 * no group of its own.
 *
 * With wish.pin, level 1 gets a group of its own if most of it is on counters that nothing else
 * wants (slots and PERF_METRICS): that group is pinned, it counts all of the time, and the other
 * groups are planned beside it. They do not count its events again: an event of theirs and one of
 * it are put together by slices of time (slices.h), so both are of the same time. If level 1 needs
 * many general counters, it takes turns with the rest: pinned, it would leave them none.
 *
 * With wish.pin_fixed the pinned group has the events of fixed counters (cycles, instructions,
 * slots and their metrics), for any level, and is never extrapolated.
 *
 * A metric's events are kept in one group, with those of the metrics that its formula refers to. If
 * that is too much for one group, the other nodes it refers to (ratios of their own) may be in
 * other groups; if its own events are too many for one, it is `mixed`. If a thread has few
 * counters, and groups become fewer by it, a value of several counters that many formulas divide by
 * (the clocks of a core that two threads share) has a group of its own.
 *
 * Stages are planned from the root down, each without regard to the stages below: so their groups
 * are the fewest, and the metrics in them whole. If that makes the way down to some node longer
 * than half of the groups of all metrics, stages are planned with a look ahead: the most demanding
 * first, each with the largest one below it, and metrics that no group can hold go in single events
 * into the room that is left.
 */
#ifndef CYCLADE_MODEL_PLAN_H
#define CYCLADE_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "model/schedule.h"

struct plan_wish {
	unsigned level;		/* deepest level; 0: as deep as the model goes */
	bool all;		/* -l N: all nodes down to `level`, no drill-down */
	const uint32_t *metric; /* --node, -M: these (and their needs) always */
	size_t n_metrics;
	bool no_tree;	 /* only the metrics named */
	bool thresholds; /* count the events of thresholds, too */
	bool pin;	 /* level 1 may be a group of its own that is always on the counters */
	bool pin_fixed;	 /* that group has all that fixed counters can count, and no more */
	bool loose;	 /* nodes that a formula refers to need not be in its group: fewer groups */
	const double *system; /* [SYSTEM_COUNT], as far as known before the run */
};

struct plan_group {
	const uint32_t *event; /* indices of the model; leader first */
	size_t n;
	bool core;   /* takes counters of the core; else software, or another PMU */
	bool pinned; /* keeps its counters all the time: the first group, of stage 0 */
};

struct plan_stage {
	uint32_t under;	       /* the node whose children it measures; MODEL_NONE: always */
	const uint32_t *group; /* indices of plan.group */
	size_t n_groups;
	const uint32_t *metric; /* that it makes known */
	size_t n_metrics;
	const uint32_t *latency; /* of plan.latency, those that its metrics ask for */
	size_t n_latency;
};

struct plan {
	const struct plan_group *group;
	size_t n_groups;
	const struct plan_stage *stage; /* [0] is the one that always counts */
	size_t n_stages;
	const bool *wanted;	      /* by metric */
	const uint32_t *metric_group; /* by metric: the group with all of its events but those of
				       * the pinned one and of common values; MODEL_NONE:
				       * not wanted, without events, or mixed */
	const bool *mixed;	    /* by metric: wanted, but no single group can hold its events */
	const uint32_t *home;	    /* by event of the model: its first group, or MODEL_NONE */
	const uint32_t *impossible; /* events that no counter here can count */
	size_t n_impossible;
	const uint32_t *latency; /* events whose retire latency the wanted metrics ask for */
	size_t n_latency;
	const struct plan_group *sampler; /* plan.latency in groups that can sample at once: each
					   * event in one, those of one stage together */
	size_t n_samplers;
	unsigned groups_for_all; /* of core counters, to count all wanted metrics at once */
	unsigned groups_at_once; /* the most for the way down to one node */
};

int plan_make(struct plan *out, struct arena *a, const struct model *m,
	      const struct schedule_limits *l, const struct plan_wish *w, struct err *err) MUST_USE;

/* Stages, their metrics and groups, for people to see. */
void plan_print(struct buf *out, const struct plan *p, const struct model *m,
		const struct schedule_limits *l);

#endif
