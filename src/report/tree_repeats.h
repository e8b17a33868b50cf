/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_repeats - the trees of several runs of a program (-r): each run's values, and their means
 * with error bars from the spread of the runs.
 *
 *	struct tree_repeats r = { 0 }
 *	tree_repeats_add(&r, &result, d, true, NULL, &err)	after each run, and drill_results()
 *	tree_repeats_mean(&r, d, &arena, &err)	the trees of `d` now have the means
 *	tree_repeats_put(&r, false, &head)	times, their means, each run's values
 *	tree_repeats_free(&r)			after the document of the head
 *
 * All runs have the same parts and models; `d` may be one drill for all of them or one for each.
 */
#ifndef CYCLADE_REPORT_TREE_REPEATS_H
#define CYCLADE_REPORT_TREE_REPEATS_H

#include "measure/counting_repeat.h"
#include "measure/drill.h"
#include "report/counts.h"

struct tree_repeats_node { /* of a metric */
	struct repeat value, unseen;
	struct repeat steps; /* half width that another run does not make smaller, either */
	struct repeat own;   /* squares of the half widths without these two */
	uint64_t over;	     /* runs in which it was over its threshold */
};

struct tree_repeats_part {
	struct tree_repeats_node *node; /* by metric */
	size_t n;
	struct tree_repeats_node ipc, frequency;
};

struct tree_repeats {
	struct tree_repeats_part *part;
	size_t n_parts;
	struct repeat seconds, user, sys;
	struct count_runs each;
};

/* A run; `d` NULL: it had no tree. keep: its values, too, of the chosen nodes; with texts in the
 * arena `copy`, or (NULL) those of the drill. */
int tree_repeats_add(struct tree_repeats *r, const struct counting_result *run,
		     const struct drill *d, bool keep, struct arena *copy,
		     struct err *err) MUST_USE;
/* The trees' nodes are replaced by others in the arena. */
int tree_repeats_mean(const struct tree_repeats *r, struct drill *d, struct arena *a,
		      struct err *err) MUST_USE;
/* cut_short: there was one run more, which was left out. */
void tree_repeats_put(const struct tree_repeats *r, bool cut_short, struct count_head *h);
void tree_repeats_free(struct tree_repeats *r);

#endif
