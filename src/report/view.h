/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view - one model of a report for every format: which rows, in which order, what is folded.
 *
 *	keys_parse(...), profile_build(...)
 *	view_build(&v, profile, &source, &opts, &err)
 *	rows_put(&document, v)						(rows.h)
 *	view_free(v)
 *
 * A view has a table per event, or one for all events side by side. Every table closes: its rows
 * sum to the event's selected samples, because samples below --min, past --limit or left out by
 * --focus and --hide have rows of their own. Shares are of the selected samples' periods. In trees
 * the rule holds at every node: total = self + the totals of the rows one level below, but for
 * folds too small to have a row, whose sum is `unlisted`.
 *
 * The view borrows from the profile and the source: both must outlive it. Trees are walked without
 * recursion, so their depth costs memory only.
 */
#ifndef CYCLADE_REPORT_VIEW_H
#define CYCLADE_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "analyse/topdown.h"
#include "base/arena.h"
#include "base/err.h"
#include "report/column.h"
#include "report/source.h"

enum view_shape {
	VIEW_TABLE,	/* rows by sort keys */
	VIEW_FUNCTIONS, /* functions with self and total (--children) */
	VIEW_CALLEES,	/* tree, outermost frame first */
	VIEW_CALLERS,	/* tree, sampled function first; self: of chains that end there */
};

struct findings_view;

struct view_opts {
	enum view_shape shape;
	const struct findings_view *findings; /* shown above the tables; NULL: none */
	const char *fields, *focus, *hide;
	const char *const *events; /* globs, a sample's event must match one; n_events 0: all */
	size_t n_events;
	double min;   /* fraction of an event's total below which rows are folded; 0: none are */
	size_t limit; /* rows of a table; 0: no bound */
	bool side_by_side;
	bool memory;		     /* some event has memory operations, or latencies */
	bool machine;		     /* for programs: all columns, levels of recursion not merged */
	const struct images *images; /* of the profile; NULL: not asked about */
};

struct view_row {
	const struct profile_row *row; /* NULL in trees and folds */
	uint32_t frame;		       /* UINT32_MAX: none */
	uint32_t id, parent;	       /* of trees: from 1; parent 0 is the root */
	uint32_t depth;		       /* frames from the root */
	uint32_t indent;	       /* levels to show: single children are not indented */
	uint32_t levels;	       /* of direct recursion merged here, at least 1 */
	bool last;		       /* no sibling follows */
	uint64_t folded;	       /* > 0: a fold of so many rows */
	bool left_out;		       /* rows removed by --focus and --hide */
	struct tally *self, *total;    /* by the table's events */
};

struct view_table {
	const uint32_t *event; /* indices into source.event */
	size_t n_events;
	struct view_row *row;
	size_t n_rows;
	const struct profile_sum **sum; /* by the table's events */
	struct tally *unlisted;		/* folds without a row (trees) */
};

struct view {
	const struct profile *profile;
	struct view_source source;
	struct view_opts opts;
	struct column_list columns;
	struct topdown topdown;	      /* of a sampled slots group; its levels are 0 without one */
	struct view_latency *latency; /* by event of the source; NULL: none (view_latency.h) */
	struct view_table *table;
	size_t n_tables;
	/* If a table has one of many events: by event, the first of its rows in by_event, which are
	 * indices of the profile's rows. Else NULL. */
	size_t *first;
	uint32_t *by_event;
	struct arena arena;
};

int view_build(struct view **out, const struct profile *p, const struct view_source *source,
	       const struct view_opts *opts, struct err *err) MUST_USE;
void view_free(struct view *v);

/* Returns the width that side-by-side tables of `n` events need, in columns. */
unsigned view_width_side_by_side(size_t n);
/* Returns the row with the largest share that has a symbol of its own, or NULL. */
const struct view_row *view_hottest(const struct view *v);
/* Returns a row's plain function name, or NULL. */
const char *view_function(const struct view *v, const struct view_row *r);

#endif
