/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_view - the top-down tree as a document: rows, their order, folds.
 *
 *	tree_view_make(&v, arena, &source, &err)
 *	document_open(&d, &tree_document, &report)
 *	tree_report_put(&d, &report)
 *
 * The rows that people see close: siblings that divide slots and are small are summed in a row
 * other_NAME. A node that is not over its threshold is not opened unless everything is asked for. A
 * level-1 node is never hidden. Programs read every node that was asked for, with the reason if it
 * has no value. An interval (head.time) has trees alone, the end of several (head.end) latencies
 * and notes.
 */
#ifndef CYCLADE_REPORT_TREE_VIEW_H
#define CYCLADE_REPORT_TREE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "measure/tree_latency.h"
#include "model/tree.h"
#include "model/tree_rates.h"
#include "report/count_head.h"
#include "report/counts.h"

struct tree_source {
	const struct tree *tree;
	const char *label;  /* "cpu_core", "S0"; NULL: there is one */
	const bool *wanted; /* by metric: asked for; NULL: all nodes */
	const bool
		*counted;  /* by metric: it could have been measured (its stage was counted); NULL:
			      * all */
	const bool *named; /* by metric: asked for by name; may be NULL */
	const char *const *latency_why; /* by event: why its latency was not sampled; may be NULL */
	const char *const *formula;	/* by metric, for --why; may be NULL */
	const double *count;		/* by event: sums, NAN if not counted */
	const double *share;		/* by event: share of the time it was counted */
	unsigned level;			/* deepest to show; 0: all */
	bool all;			/* nothing is folded or left closed */
	double fold;			/* a share below that is small; 0: 0.05 */
	double whole;			/* slots that all of it is of; NAN: not known */
	const struct tree_rates *rates; /* NULL: not known */
};

#define TREE_NO_ROW UINT32_MAX

struct tree_view_row {
	uint32_t metric; /* MODEL_NONE: other_NAME */
	uint32_t parent; /* a row, or TREE_NO_ROW */
	const char *name;
	unsigned depth;
	bool last; /* of its siblings */
	double share;
	const char *unit; /* it is a share of these; "" of slots */
	double error, counted;
	double open; /* share while it was counted, if that is another one; NAN */
	const char *no_error;
	bool bound; /* it was not measured: that it is from low to high is all that is known */
	double low, high; /* tree_bound() */
	bool path, tie, over, doubtful;
	size_t folded; /* of other_NAME: how many */
};

struct tree_view {
	struct tree_source source;
	const struct tree_view_row *row;
	size_t n;
	const uint32_t *metric; /* those without level that were asked for */
	size_t n_metrics;
};

int tree_view_make(struct tree_view *out, struct arena *a, const struct tree_source *source,
		   struct err *err) MUST_USE;
/* For tree_source.formula: by metric, each formula with its values; arena memory. */
int tree_formulas(const char *const **out, struct arena *a, const struct tree *t,
		  const struct tree_counts *c, struct err *err) MUST_USE;
/* Puts the reason why a metric has no value, or is doubtful: one line. "" if it is fine. */
void tree_view_why(struct buf *out, const struct tree_source *s, uint32_t metric);
/* "2.98 GHz +-0.01, IPC 0.71": those that have a value. */
void tree_view_rates(struct buf *out, const struct tree_rates *r);
/* Returns the deepest node of the path to follow, MODEL_NONE: there is none. */
uint32_t tree_view_deepest(const struct tree *t);
/* Sets the two nodes that the path ends before, the larger first; returns false if it ends
 * otherwise. *known: both were measured, so that they are alike; else it is not known which is
 * larger. */
bool tree_view_tie(const struct tree *t, uint32_t out[2], bool *known);
/* "0-12 %" of a row with bounds. */
void tree_put_bound(struct buf *b, const struct tree_view_row *r);

struct tree_report {
	struct count_head head;
	const struct tree_view *view;
	size_t n_views;
	const char *cpu;
	const struct next *next; /* commands worth typing */
	size_t n_next;
	const struct tree_latency *latency;
	size_t n_latency;
	const struct counts *beside; /* counts that were imported, and are not the tree's; NULL */
	/* for people: */
	bool verbose; /* latencies as well */
	bool rows;    /* a row for each interval, if that fits */
};

extern const struct document_form tree_document;

/* The report must outlive the document. */
void tree_report_put(struct document *d, const struct tree_report *r);
/* The trees alone, for people; the formulas of --why behind them. */
void tree_put_views(struct buf *out, const struct tree_report *r, const struct style *st);

#endif
