/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topdown - the tree that a sampled group of slots and metrics carries, for any set of its samples.
 *
 * A recording of {slots,SAMPLER,topdown-retiring,...}:S has, in each sample, how far the fields of
 * PERF_METRICS got since the sample before, in slots (Intel, Ice Lake on; four fields of level 1,
 * from Sapphire Rapids four of level 2). A share is a field's sum over the sum of the four of level
 * 1, as Intel's TMA sheet divides them (over slots if not all four are there); a field that level 2
 * lacks is the parent minus the counted sibling.
 *
 * The error is that of a ratio of sums over samples: var R = sum (m - R s)^2 / (sum s)^2. The sum
 * of products m s is not kept; since 0 <= m <= s it is at least sum m^2, which gives an upper
 * bound. Half a step of the register's 8 bits (1/255) is added.
 */
#ifndef CYCLADE_ANALYSE_TOPDOWN_H
#define CYCLADE_ANALYSE_TOPDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/profile.h"
#include "perfdata/perfdata.h"

enum topdown_part { /* the first eight in the order of the register's fields */
		    TOPDOWN_RETIRING,
		    TOPDOWN_BAD_SPECULATION,
		    TOPDOWN_FRONTEND_BOUND,
		    TOPDOWN_BACKEND_BOUND,
		    TOPDOWN_HEAVY_OPERATIONS,
		    TOPDOWN_BRANCH_MISPREDICTS,
		    TOPDOWN_FETCH_LATENCY,
		    TOPDOWN_MEMORY_BOUND,
		    TOPDOWN_LIGHT_OPERATIONS,
		    TOPDOWN_MACHINE_CLEARS,
		    TOPDOWN_FETCH_BANDWIDTH,
		    TOPDOWN_CORE_BOUND,
		    TOPDOWN_PARTS,
		    TOPDOWN_FIELDS = 8,
};

extern const char *const topdown_names[TOPDOWN_PARTS];

struct topdown { /* which events are which; -1: not recorded */
	int slots, field[TOPDOWN_FIELDS];
	unsigned levels; /* 0: no such group; 1 or 2 */
};

struct topdown_value {
	/* NAN: not measured, or the fields contradict each other beyond their error. */
	double share;
	double half; /* of the 95 % interval; NAN: fewer than two samples */
};

void topdown_find(struct topdown *t, const struct pd_event *event, size_t n);
bool topdown_is_part(const struct topdown *t, size_t event); /* slots or a field */
struct topdown_value topdown_share(const struct topdown *t, const struct profile_row *row,
				   enum topdown_part part);
/* Returns the largest part of the deepest level that was measured; TOPDOWN_PARTS if none was. */
enum topdown_part topdown_mostly(const struct topdown *t, const struct profile_row *row,
				 struct topdown_value *value);
/* Returns true if some part is larger than its whole, by more than the errors. */
bool topdown_contradicts(const struct topdown *t, const struct profile_row *row);

#endif
