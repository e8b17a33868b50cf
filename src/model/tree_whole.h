/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_whole - the tree of a run of which some stages were counted for a part.
 *
 *	tree_whole_new(&k, model, plan, &err)
 *	tree_whole_make(&tree, k, slices, &ask, &counts, &err)	as often as wanted
 *	tree_whole_free(k)
 *
 * For each stage that was not always on, a tree of the time in which it was (its nodes, and the one
 * they hang under); then the tree of all of the time, in which these are parts (tree_parts.c).
 * Not safe for two threads at once. Costs: a tree for each such stage, and one.
 */
#ifndef CYCLADE_MODEL_TREE_WHOLE_H
#define CYCLADE_MODEL_TREE_WHOLE_H

#include "model/plan.h"
#include "model/slices.h"
#include "model/tree.h"

struct tree_whole;

struct tree_whole_ask {
	struct arena *a;	  /* of the tree's inputs */
	uint64_t since, from, to; /* as of slices_counts_since() */
};

int tree_whole_new(struct tree_whole **out, const struct model *m, const struct plan *plan,
		   struct err *err) MUST_USE;
/* `counts`: its latency, latency_se and system are the caller's, the rest is filled. The nodes are
 * the maker's, until the next is made. */
int tree_whole_make(struct tree *out, struct tree_whole *k, struct slices *s,
		    const struct tree_whole_ask *ask, struct tree_counts *counts,
		    struct err *err) MUST_USE;
void tree_whole_free(struct tree_whole *k); /* NULL is fine */

#endif
