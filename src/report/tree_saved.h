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
 * Flags: l last of its siblings, p on the path to follow, o over its threshold, d doubtful, s the
 * sum of small ones, - none. Lines of other words are passed over: they are a later version's.
 */
#ifndef CYCLADE_REPORT_TREE_SAVED_H
#define CYCLADE_REPORT_TREE_SAVED_H

#include "report/tree_view.h"
#include "show/table.h"

struct tree_saved_why {
	const char *name, *reason;
};

struct tree_saved_view {
	const char *label;		 /* NULL: there is one */
	double whole;			 /* slots; NAN: not known */
	const struct tree_view_row *row; /* their metric is MODEL_NONE or nothing */
	size_t n;
	const struct tree_saved_why *why;
	size_t n_why;
};

struct tree_saved {
	const char *cpu; /* NULL: not known */
	const struct tree_saved_view *view;
	size_t n_views;
	const char *const *note;
	size_t n_notes;
	const char *missing; /* why there is no tree; NULL: there is one */
};

void tree_saved_write(struct buf *out, const struct tree_report *r);
/* Reads the text of tree_saved_write(), from outside, into the arena. Fails if it is no such text.
 * A share that cannot be one (below 0, more than the whole) is read as doubtful. */
int tree_saved_read(struct tree_saved *out, struct arena *a, const char *text, size_t len,
		    struct err *err) MUST_USE;
/* For people; names are made safe here. */
void tree_saved_put(struct buf *out, const struct tree_saved *t, const struct style *st);
/* Tables of a tree that was read: rows, with their parents by id, and notes. */
extern const struct table_form tree_saved_form, tree_saved_notes_form;

#endif
