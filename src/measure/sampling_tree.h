/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sampling_tree - the tree that is counted beside samples (opts.tree), of the same program for the
 * same time.
 *
 * The samples come first: they keep their counters, and if there can be no tree, they are taken all
 * the same and `why` has the reason. Without a model cycles and instructions are counted in the
 * tree's place. report/sampled_tree.h makes the report.
 */
#ifndef CYCLADE_MEASURE_SAMPLING_TREE_H
#define CYCLADE_MEASURE_SAMPLING_TREE_H

#include "measure/drill.h"
#include "measure/sampling.h"

#define SAMPLING_HELD 8 /* events that sample beside a tree, at most */

struct sampling_count {	     /* in place of a tree */
	double value, share; /* share: of the time it was on a counter, the least of all */
	bool known;
};

struct sampling_tree {
	bool drilling, plain; /* the tree is counted; cycles and instructions are */
	struct drill d;
	struct drill_held held[SAMPLING_HELD];
	size_t n_held;
	struct counting_reader reader; /* d's */
	struct counter_setup plain_setup;
	struct event_list plain_events;
	char why[256]; /* there is no tree: why; "" */
};

/* Returns the tree of an opened sampling. It lives as long. */
struct sampling_tree *sampling_tree(struct sampling *r);
/* The counts so far; a tree of which they cannot be read is given up. */
void sampling_tree_read(struct sampling *r);
/* There is no tree any more. */
void sampling_tree_give_up(struct sampling_tree *t, const struct err *why);
/* Cycles and instructions; known is false if there are none. Before the counters are closed. */
int sampling_tree_plain(const struct sampling *r, struct sampling_count of[2],
			struct err *err) MUST_USE;

#endif
