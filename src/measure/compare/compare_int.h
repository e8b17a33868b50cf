/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_int - the pieces of compare_programs(): events beside the programs
 * (compare_programs.c), or the tree (compare_tree.c).
 */
#ifndef CYCLADE_MEASURE_COMPARE_INT_H
#define CYCLADE_MEASURE_COMPARE_INT_H

#include "measure/compare.h"
#include "measure/counting.h"
#include "measure/counting_events.h"
#include "measure/drill.h"

struct compare_figure {
	const char *name, *unit;
	double value;
	const char *why; /* there is none */
};

struct programs {
	const struct compare_opts *opts;
	struct compare_found *found;
	struct counting k;
	bool tree;
	struct counting_events ev;
	struct drill d;
	struct arena now; /* of one run */
	struct compare *c;
	struct compare_one *one;
};

/* Whether a run that ended so stops the comparison. */
int compare_ended(struct programs *p, const char *program, int status, int killed_by,
		  struct err *err) MUST_USE;
/* Fails if the machine's setting changed. */
int compare_check_setting(struct programs *p, struct err *err) MUST_USE;
/* Marks metrics that decide; --fail-if of one that there is not is refused. */
int compare_choose(struct programs *p, struct err *err) MUST_USE;
/* A run that is sampled, and the metrics of all of them: opts.record. */
int compare_sample(void *ctx, struct compare *c, struct compare_one *one, struct err *err) MUST_USE;
int compare_functions(void *ctx, struct compare *c, struct err *err) MUST_USE;
/* Returns the figures of a run that has ended; in p->now. */
int compare_tree_figures(struct programs *p, struct compare_figure **out, size_t *n,
			 struct err *err) MUST_USE;

#endif
