/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of diff_flame: the tree, and its document (diff_flame_tables.c).
 */
#ifndef CYCLADE_REPORT_DIFF_FLAME_INT_H
#define CYCLADE_REPORT_DIFF_FLAME_INT_H

#include "report/diff/diff_int.h"
#include "report/diff_flame.h"

#define FLAME_FOLDED UINT64_MAX /* a frame of chain_tree: of nodes that are folded */

struct flame_frame {
	const char *function, *dso;
	int64_t item; /* -1: no row */
};
struct flame_node {
	int64_t parent, frame;
	double base, new, error; /* error: half of 95 % of the difference, of this node alone */
};

struct diff_flame {
	struct diff *x;
	size_t side, n_base, n_runs;
	const char *event;
	const struct diff_item *total;
	double folded;			    /* base and new of nodes without a frame */
	VEC(const struct diff_item *) item; /* the event's rows */
	VEC(struct flame_frame) frame;
	VEC(struct flame_node) node; /* parents before their children */
};

#endif
