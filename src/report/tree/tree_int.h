/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_int - the formats of tree_view.h.
 */
#ifndef CYCLADE_REPORT_TREE_INT_H
#define CYCLADE_REPORT_TREE_INT_H

#include "base/json.h"
#include "report/tree_view.h"

int tree_write_term(struct buf *b, const struct tree_report *r, const struct counts_style *st);
int tree_write_csv(struct buf *b, const struct tree_report *r, const struct counts_style *st);
int tree_write_json(struct buf *b, const struct tree_report *r, const struct counts_style *st);
int tree_write_markdown(struct buf *b, const struct tree_report *r, const struct counts_style *st);

struct tree_item { /* a metric as programs read it */
	const struct tree_source *s;
	uint32_t metric;
	const struct model_metric *m;
	const struct tree_node *n;
	double value, error;
	const char *unit;
};

/* Those that belong into the output of programs, in the order of the model; there is room for
 * all. */
size_t tree_items(const struct tree_source *s, struct tree_item *out);
/* "trees" and "latencies" of an object that is open. */
int tree_json_trees(struct json *j, const struct tree_report *r) MUST_USE;
/* A table for each tree, and that of latencies. */
void tree_markdown_trees(struct buf *b, const struct tree_report *r);

struct tree_rows {
	const char *label; /* NULL: there is one */
	double whole;	   /* slots; NAN: not known */
	const struct tree_view_row *row;
	size_t n;
};

/* Rows for people; `why`, finished lines, stands behind them. All but it and the label is made safe
 * here. */
void tree_put_rows(struct buf *b, const struct tree_rows *r, const char *why,
		   const struct style *st, bool first);

/* A metric as people read it: "0.71", "3.74 GHz", "41.2 %". */
void tree_put_metric(struct buf *b, const struct model_metric *m, const struct tree_node *n);
/* "+-1.3", "+-<0.1", "+-?"; nothing where there is no value. */
void tree_put_error(struct buf *b, double share, double error);

/* tree_interval.c: whether rows fit: no metrics, no formulas, and room for a name. */
bool tree_interval_fits(const struct tree_report *r, const struct style *st);
void tree_put_interval(struct buf *b, const struct tree_report *r, const struct counts_style *st);

/* tree_latency.c */
void tree_term_latencies(struct buf *b, const struct tree_report *r, const struct style *st);
void tree_csv_latency(struct buf *b, double time, const struct tree_latency *l, char sep);
void tree_json_latencies(struct json *j, const struct tree_report *r);
void tree_markdown_latencies(struct buf *b, const struct tree_report *r);

#endif
