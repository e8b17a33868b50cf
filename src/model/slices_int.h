/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices_int - readings as they are kept; for the files of slices alone.
 */
#ifndef CYCLADE_MODEL_SLICES_INT_H
#define CYCLADE_MODEL_SLICES_INT_H

#include "base/vec.h"
#include "model/slices.h"

struct slices_cell { /* since opening, resets added up; counts to 2^53 are exact */
	double value, enabled, running;
};

struct slices_kept {
	uint32_t *event;
	bool *stepped;
	size_t n, stride;	      /* events; cells of one reading: n * n_targets */
	VEC(uint64_t) t;	      /* of each reading; the first is setup.start, all 0 */
	VEC(struct slices_cell) cell; /* [reading * stride + event * n_targets + target] */
	uint64_t *last;		      /* by cell: the value as it was read */
	bool *seen;		      /* by cell: not always missing */
};

struct slices {
	struct arena arena;
	struct slices_kept *group;
	size_t n_groups, n_events, n_targets, max_bytes;
};

static inline const struct slices_cell *slices_at(const struct slices *s, size_t group,
						  size_t reading, size_t event, size_t target)
{
	const struct slices_kept *k = &s->group[group];

	return &k->cell.v[reading * k->stride + event * s->n_targets + target];
}

#endif
