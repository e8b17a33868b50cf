/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_ran - facts about a row's function from branch records of the same recording, beside its
 * account of cycles: instructions retired, how often it was called, by how many, and how many it
 * calls.
 *
 *	account_rans_make(&r, arena, blocks, calls, profile, &err)
 *	account_ran_of(&r, row)
 *
 * Branch records are of a function wherever it ran. If several rows are of one function (by thread,
 * by line), none of them has its figures.
 */
#ifndef CYCLADE_REPORT_ACCOUNT_RAN_H
#define CYCLADE_REPORT_ACCOUNT_RAN_H

#include "analyse/blocks.h"
#include "analyse/calls.h"
#include "analyse/profile.h"
#include "base/arena.h"

struct account_ran {
	uint32_t image;
	uint64_t start;
	struct flow_value insns, called; /* v NAN: not known, or no executions */
	uint32_t callers, callees;
	bool has_calls;
	size_t rows; /* of the profile that are of it */
};

struct account_rans {
	struct account_ran *v; /* by image and start */
	size_t n;
	bool late; /* flow_sums.late: figures have no error */
};

/* blocks NULL: stacks are not of all branches. */
void account_rans_make(struct account_rans *out, struct arena *a, const struct blocks *blocks,
		       const struct calls *calls, const struct profile *p);
/* Returns NULL if nothing is known of it. */
const struct account_ran *account_ran_of(const struct account_rans *r,
					 const struct profile_row *row);

#endif
