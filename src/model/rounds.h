/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rounds - groups of counters that take turns: who is on and for how long, by chance.
 *
 *	rounds_new(&r, arena, plan, seed, &err)
 *	rounds_begin(&r, plan, model, limits, wants)	a round: each group that wants to has a turn
 *	rounds_on(&r, group)				it is its turn
 *	rounds_length(&r.chance, step)			how long a turn lasts
 *	rounds_next(&r)					the next turn; false: the round is over
 *
 * The kernel lets groups take turns of equal lengths in a fixed order: of a program whose period is
 * that of the turns each group always sees the same piece, and nothing in the counts shows it. Here
 * each round has an order of its own, and each turn a length of its own: how often a piece of the
 * program is seen does not depend on its period. Groups that fit on the counters together share a
 * turn.
 *
 * Pure: no clock, no counters. Costs: schedule_fits() once for each two groups, and for each third
 * one that fits to both of two.
 */
#ifndef CYCLADE_MODEL_ROUNDS_H
#define CYCLADE_MODEL_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"

#define ROUNDS_NONE SIZE_MAX

struct rounds {
	uint8_t *pair;	  /* by two groups: whether they fit together, as far as known */
	size_t *turn;	  /* by group: its turn of this round, or ROUNDS_NONE */
	uint32_t *who;	  /* scratch: groups, those of one turn behind each other */
	uint32_t *event;  /* scratch: events of a turn */
	size_t groups, n; /* n: turns of this round */
	size_t now;	  /* the one that counts */
	uint64_t chance;
};

/* [0, 1), by splitmix64. */
double rounds_draw(uint64_t *chance);
/* ns: a quarter to seven quarters of the step. */
uint64_t rounds_length(uint64_t *chance, uint64_t step);

int rounds_new(struct rounds *r, struct arena *a, const struct plan *p, uint64_t seed,
	       struct err *err) MUST_USE;
/* `wants`: by group of the plan. */
void rounds_begin(struct rounds *r, const struct plan *p, const struct model *m,
		  const struct schedule_limits *l, const bool *wants);
bool rounds_on(const struct rounds *r, size_t group);
/* False if this turn was the round's last. */
bool rounds_next(struct rounds *r);

#endif
