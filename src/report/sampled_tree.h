/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sampled_tree - the report of the tree that was counted beside samples (measure/sampling_tree.h).
 *
 *	struct sampled_tree t = { .r = sampling, .a = ARENA_INIT }
 *	sampled_tree_report(&t, &report, &err)	once sampling_next() is over
 *	sampled_tree_save(&t, &text)		for sampling_keep()
 *	sampled_tree_free(&t)
 *
 * Views, CPU, notes and next commands; n_views is 0 without a tree, cpu NULL if nothing is known.
 * Reports live as long as `t` and the sampling.
 */
#ifndef CYCLADE_REPORT_SAMPLED_TREE_H
#define CYCLADE_REPORT_SAMPLED_TREE_H

#include "measure/sampling_tree.h"
#include "report/tree_view.h"

struct sampled_tree {
	struct sampling *r; /* NULL: there is none */
	bool verbose, why;
	struct arena a;		 /* of one report */
	struct tree_report made; /* of the whole run, as the recording has it */
	bool is_made;
};

int sampled_tree_report(struct sampled_tree *t, struct tree_report *r, struct err *err) MUST_USE;
/* The report as text of CYCLADE_TREE; nothing if there is no tree. A recording without its tree is
 * one all the same: a failure gives the tree up. */
void sampled_tree_save(struct sampled_tree *t, struct buf *out);
/* For people, of the counts so far; nothing without a tree. */
int sampled_tree_so_far(struct sampled_tree *t, struct buf *out, const struct style *st,
			struct err *err) MUST_USE;
/* Makes the report's line on the CPU from counts, in place of a tree. */
int sampled_tree_plain(struct sampled_tree *t, const struct sampling_count of[2],
		       struct tree_report *r, struct err *err) MUST_USE;
/* The report again, after the trees' nodes became others: means of several runs. */
int sampled_tree_again(struct sampled_tree *t, struct tree_report *r, struct err *err) MUST_USE;
/* The tree of a piece of the run, in ns since it began; n_views 0: there is none. Lives until the
 * next is made. */
int sampled_tree_interval(struct sampled_tree *t, uint64_t from, uint64_t to, struct tree_report *r,
			  struct err *err) MUST_USE;
/* Returns the level worth counting down to in a run of its own; 0: none is. */
unsigned sampled_tree_deeper(const struct sampled_tree *t);
void sampled_tree_free(struct sampled_tree *t);

#endif
