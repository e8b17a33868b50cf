/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wall_tree - the time of all threads by thread name and call chain, on the CPU and off it.
 *
 *	wait_build(&w, ...)
 *	wall_tree_build(&t, rec, spaces, w, &opts, &err)
 *	... t->node[0..t->n) ...
 *	wall_tree_free(t)	before wait_free(w)
 *
 * The running time of a thread is shared out evenly among its samples; where it has none, it
 * belongs to no function. Time off the CPU has the chain of the switch, and its reason as the
 * innermost node. So the time of a name is that of the lives of its threads.
 */
#ifndef CYCLADE_ANALYSE_WALL_TREE_H
#define CYCLADE_ANALYSE_WALL_TREE_H

#include "analyse/wait.h"

enum wall_kind { WALL_ALL, WALL_COMM, WALL_FUNCTION, WALL_REASON };

struct wall_node {
	uint32_t parent; /* of tree.node; the root's is itself */
	uint32_t depth;
	uint8_t kind;	/* enum wall_kind */
	uint8_t reason; /* WALL_REASON */
	const char *comm;
	struct wait_place place;
	double on, off;		  /* ns, with what is below */
	double self_on, self_off; /* without */
};

struct wall_tree {
	struct wall_node *node; /* parents first, then those below, most time first */
	size_t n;
	uint64_t samples;
};

struct wall_tree_opts {
	size_t event; /* of pd_events(); SIZE_MAX: none */
};

int wall_tree_build(struct wall_tree **out, const struct pd *rec, const struct spaces *spaces,
		    const struct wait *w, const struct wall_tree_opts *opts,
		    struct err *err) MUST_USE;
void wall_tree_free(struct wall_tree *t); /* NULL is fine */

#endif
