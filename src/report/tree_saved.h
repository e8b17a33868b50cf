/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_saved - the tree in a recording: its rows as they were shown to people, so that showing them
 * again needs neither the model nor the counts of then.
 *
 * Text, a line for each thing, fields parted by tabs; numbers that are not known are "-":
 *
 *	cyclade.tree.rows 1
 *	cpu TEXT
 *	view WHOLE LABEL				begins a tree; slots that all of it is of
 *	row DEPTH FLAGS SHARE ERROR COUNTED NAME UNIT NO_ERROR
 *	why NAME REASON					of a row without a value to believe
 *	note TEXT
 *
 * Flags: l last of its siblings, p on the path to follow, o over its threshold, d doubtful, s the sum
 * of small ones, - none. Lines of other words are passed over: they are a later version's.
 */
#ifndef CYCLADE_REPORT_TREE_SAVED_H
#define CYCLADE_REPORT_TREE_SAVED_H

#include "report/tree_view.h"

void tree_saved_write(struct buf *out, const struct tree_report *r);
/* What tree_saved_write wrote, for people, from outside. Fails where it is none of it. */
int tree_saved_put(struct buf *out, const char *text, size_t len, const struct style *st,
		   struct err *err) MUST_USE;

#endif
