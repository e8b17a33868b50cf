/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_flame - the call chains of two sides of a diff as one tree, for a differential flame graph.
 *
 *	diff_flame_build(&f, x, side, event, run)	f NULL: the sides do not have the event
 *	document_open(&d, &diff_flame_document, NULL)
 *	diff_flame_put(&d, f)
 *	diff_flame_free(f)
 *
 * The diff's rows judge, nothing is judged here: each frame has the row of its function, with its
 * verdict. Values of nodes are means over a side's recordings, in the unit of the row, and divided
 * as the diff divides. Those of all nodes of a row add up to the row's base and new. Frames are
 * joined as rows are: files and functions that were renamed are one frame.
 *
 * A tree has some FLAME_NODES nodes at most: rare ones are folded into a node without a frame below
 * their caller. But those of functions that changed stay, below the last caller that has a node.
 */
#ifndef CYCLADE_REPORT_DIFF_FLAME_H
#define CYCLADE_REPORT_DIFF_FLAME_H

#include "analyse/profile.h"
#include "report/diff.h"

enum { FLAME_NODES = 20000 };

/* A recording's samples, with chains. */
struct diff_flame_run {
	const struct profile *profile;
	size_t event; /* its index there */
};

struct diff_flame;

extern const struct document_form diff_flame_document;

/* run: one for each recording of the base, then of the side (from 1). Names belong to the diff and
 * the profiles: both must outlive *out. */
void diff_flame_build(struct diff_flame **out, struct diff *x, size_t side, const char *event,
		      const struct diff_flame_run *run);
void diff_flame_put(struct document *d, const struct diff_flame *f);
void diff_flame_free(struct diff_flame *f); /* NULL is fine */

#endif
