/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wall_tree - the time of all threads by thread name and call chain, on the CPU and off it.
 *
 *	wait_build(&w, ...)
 *	wall_tree_begin(&t, pass, rec, spaces, w, &opts)	a visitor of a walk
 *	wall_tree_end(t, &err)					after it
 *	... t->node[0..t->n) ...
 *	wall_tree_free(t)	before wait_free(w)
 *
 * The running time of a thread is shared out evenly among its samples; if it has none, it belongs
 * to no function. So the running time of a bin is about that of its samples. Time off the CPU has
 * the chain of the switch, and its reason as the innermost node. So the time of a name is that of
 * the lives of its threads.
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
	double on, off;		  /* ns, with descendants */
	double self_on, self_off; /* without */
};

/* Time of a thread in a bin, in a node itself. There may be several of the same. */
struct wall_cell {
	uint32_t node, thread; /* of tree.node, of wait.h */
	uint16_t bin, samples;
	uint64_t time; /* ns */
};

struct planting;

struct wall_tree {
	struct planting *work;	/* until wall_tree_end() */
	struct wall_node *node; /* parents first, then those below, most time first */
	size_t n;
	uint64_t samples;
	struct wall_cell *cell; /* NULL: not asked for */
	size_t n_cells;
};

struct wall_tree_opts {
	size_t event;	/* of pd_events(); SIZE_MAX: none */
	uint64_t width; /* ns of a bin, from w->from on; 0: no cells. UINT16_MAX bins at most */
};

/* How many bins more than one each the waits of wanted threads reach over: so many cells there are
 * at least, and as many again as there are waits. */
uint64_t wall_tree_reach(const struct wait *w, uint64_t width);

struct pass;
void wall_tree_begin(struct wall_tree **out, struct pass *pass, const struct pd *rec,
		     const struct spaces *spaces, const struct wait *w,
		     const struct wall_tree_opts *opts);
int wall_tree_end(struct wall_tree *t, struct err *err) MUST_USE;
void wall_tree_free(struct wall_tree *t); /* NULL is fine */

#endif
