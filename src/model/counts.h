/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - counts of a model's events, with errors: slices.h makes it of readings, tree.h
 * a tree of it.
 */
#ifndef CYCLADE_MODEL_COUNTS_H
#define CYCLADE_MODEL_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct tree_counts {
	const double
		*count; /* [event * n_lps + lp], extrapolated to the whole time; NAN: not counted */
	size_t n_lps;
	const double *counted; /* by event: share of the time it was on a counter, 0..1 */
	/* Covariance of the events' sums (over logical processors): group g has the events
	 * member[first[g] .. first[g + 1]) and the matrix cov[g] (k * k, row after row, NULL:
	 * exact). */
	const uint32_t *member, *first;
	const double *const *cov;
	const char *const *no_error; /* by group: why its errors are not known (cov is NULL then),
				      * NULL if they are; NULL: known of all */
	size_t n_groups;
	const double *quantum; /* by event: half the width of its steps, in counts; NULL: exact */
	const double *latency; /* by event, NAN: none; NULL */
	const double *latency_se; /* standard error of it, NAN: not measured here, nodes that use it
				   * have no error bar; NULL: exact */
	const double *system;	  /* [SYSTEM_COUNT] */
	/* By event: why its count of 0 is not believed, NULL if it is; NULL: all are. Kept as long
	 * as the tree. */
	const char *const *dead;
	/* By event: why no count of it is believed; NULL: all are. Kept as long as the tree. */
	const char *const *wrong;
	/* By metric, in its own unit: its value if its formula has none, NAN: none; NULL: of
	 * none. */
	const double *given;
	const char *const *given_by; /* by metric: its source in words: there is no error bar */
};

#endif
