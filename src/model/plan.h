/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan - from what a person wants to see to the groups that must count.
 *
 *	plan_make(&p, arena, model, &limits, &wish, &err)
 *
 * A plan has stages: groups of stage 0 (level 1, the metrics asked for by name) always count. Each
 * further stage hangs under a node (`under`) and counts only while that node is open (tree_open).
 * Stages share groups where events are the same; a group with a home in an open stage is never
 * counted twice. With wish.all there is only stage 0.
 */
#ifndef CYCLADE_MODEL_PLAN_H
#define CYCLADE_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"
#include "model/schedule.h"

struct plan_wish {
	unsigned level;		/* deepest level; 0: as deep as the model goes */
	bool all;		/* -l N: all nodes down to `level`, no drill-down */
	const uint32_t *metric; /* --node, -M: these (and what they need) always */
	size_t n_metrics;
	bool no_tree;	      /* only the metrics named */
	bool thresholds;      /* count what thresholds need too */
	const double *system; /* [SYSTEM_COUNT], as far as known before the run */
};

struct plan_group {
	const uint32_t *event; /* indices of the model; leader first */
	size_t n;
};

struct plan_stage {
	uint32_t under;	       /* the node whose children it measures; MODEL_NONE: always */
	const uint32_t *group; /* indices of plan.group */
	size_t n_groups;
	const uint32_t *metric; /* what it makes known */
	size_t n_metrics;
};

struct plan {
	const struct plan_group *group;
	size_t n_groups;
	const struct plan_stage *stage; /* [0] is the one that always counts */
	size_t n_stages;
	const bool *wanted;	    /* by metric */
	const uint32_t *impossible; /* events that no counter here can count */
	size_t n_impossible;
	unsigned groups_for_all; /* what counting every wanted metric at once would take */
};

int plan_make(struct plan *out, struct arena *a, const struct model *m,
	      const struct schedule_limits *l, const struct plan_wish *w, struct err *err) MUST_USE;

#endif
