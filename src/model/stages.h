/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stages - which stages of a plan count now.
 *
 *	stages_new(&s, arena, model, plan, seed, &err)
 *	stages_begin(&s, keep)			a run begins
 *	stages_ask(&s, tree)			for each tree of the window
 *	stages_decide(&s, now)			opens and closes stages by it, or visits one
 *	stages_end_visit(&s)			at the next reading
 *	stages_group(&s, group)			how a group of the plan counts from now on
 *
 * A stage opens as soon as its node is over its threshold, or too unsure several times in a row (at
 * first every bar is wide, and a stage that is opened for nothing takes its groups' time from those
 * that make the bars narrow). It closes when it was neither for as long as it was wanted before,
 * KEEP_MAX at most: nodes that matter for the run are known nearly as well as if they had always
 * been open, and the others leave their time on the counters to them.
 *
 * Shares under a node are not known while its stage is closed. It is no more than the node has,
 * which is why a stage is closed while that is little. So that the figures of the whole run have a
 * sample of that time, closed stages are visited: at moments drawn at random one is on for a single
 * slice, with those above it. The choice is a lottery in which each has as many lots as its node
 * had share and time while it was closed, by the number of its visits: the least known node is seen
 * most often, and a node without a share is left alone. Visits take VISIT_SHARE of the time at
 * most.
 *
 * Pure: no clock, no counters. Everything is the arena's. Costs: a pass over the stages.
 */
#ifndef CYCLADE_MODEL_STAGES_H
#define CYCLADE_MODEL_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"
#include "model/slices.h"
#include "model/tree.h"

#define STAGES_WINDOW 500000000ull /* ns that a decision looks back */

struct stages_state; /* of one stage */

struct stages {
	const struct model *m;
	const struct plan *plan;
	struct stages_state *stage; /* as plan.stage */
	uint32_t *stage_of; /* by metric: the stage that makes it known, 0 if none needs to */
	bool *may;	    /* scratch, by metric */
	uint64_t random;
	uint64_t last, next_visit; /* ns since the run began: the last decision, the next visit */
	bool visiting;
	unsigned visits; /* made in this run */
};

int stages_new(struct stages *s, struct arena *a, const struct model *m, const struct plan *plan,
	       uint64_t seed, struct err *err) MUST_USE;
/* `keep`: open stages stay open. */
void stages_begin(struct stages *s, bool keep);
/* Trees of one decision are asked one after the other: a stage is wanted if one wants it. */
void stages_ask(struct stages *s, const struct tree *t);
/* `now`: ns since the run began, never less than before. */
void stages_decide(struct stages *s, uint64_t now);
/* A visit lasts from one reading to the next. */
void stages_end_visit(struct stages *s);
/* Opens every stage that was asked for, at once; true if one of them was not open. Nothing
 * closes. */
bool stages_open_asked(struct stages *s);

bool stages_is_open(const struct stages *s, size_t stage);
/* Was open at some time of this run. */
bool stages_was_open(const struct stages *s, size_t stage);
/* SLICES_ON if an open stage has this group, SLICES_VISIT if only one that is visited has. */
enum slices_state stages_group(const struct stages *s, size_t group);

#define STAGES_SLICE_MAX 50000000ull
/* ns from one reading to the next, if so many groups take turns on the core's counters: a slice
 * holds a turn of each. The first slices are short, so that stages open soon; slices grow with the
 * run, up to `longest` or one turn of each. */
uint64_t stages_slice(size_t turns, uint64_t readings, uint64_t longest);
/* The length of a visit. */
uint64_t stages_visit_slice(size_t turns);
/* The time from which on a decision at `now` uses counts. Before groups came or went (at
 * `switched`, `readings` ago) other events were not counted, which makes bars wide: once there are
 * slices enough for a bar, older ones are not used. ns since the run began. */
uint64_t stages_look_from(uint64_t now, uint64_t switched, uint64_t readings);

#endif
