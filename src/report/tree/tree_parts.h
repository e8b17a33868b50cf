/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree_parts - the tables and the lines of tree_view.h.
 */
#ifndef CYCLADE_REPORT_TREE_PARTS_H
#define CYCLADE_REPORT_TREE_PARTS_H

#include "report/tree_view.h"

struct tree_rows {
	const char *label; /* NULL: there is one */
	double whole;	   /* slots; NAN: not known */
	const struct tree_view_row *row;
	size_t n;
};

/* Rows for people; `why`, finished lines, stands behind them. All but it is made safe here. */
void tree_put_rows(struct buf *b, const struct tree_rows *r, const char *why,
		   const struct style *st, bool first);

/* A line, made safe, in as many as the width needs. */
void tree_put_line(struct buf *b, const char *text, const struct style *st);
/* The command, and "3.21 s wall, 3.18 s cpu, exit 0": two lines. */
void tree_put_head(struct buf *b, const struct count_head *h, const struct style *st);
/* Notes on its reliability, in lines as wide as the terminal. */
void tree_put_notes(struct buf *b, const struct count_head *h, const struct style *st);

/* A metric as people read it: "0.71", "3.74 GHz", "41.2 %". */
void tree_put_metric(struct buf *b, const struct model_metric *m, const struct tree_node *n);
/* "+-1.3", "+-<0.1", "+-?"; nothing if there is no value. */
void tree_put_error(struct buf *b, double share, double error);
document_write_fn tree_write_term, run_write_term;

/* tree_interval.c: returns true if rows fit: no metrics, no formulas, and room for a name. */
bool tree_interval_fits(const struct tree_report *r, const struct style *st);
void tree_put_interval(struct buf *b, const struct tree_report *r, const struct show *s);

/* tree_latency.c */
void tree_term_latencies(struct buf *b, const struct tree_report *r, const struct style *st);

/* ---- tables ---------------------------------------------------------------------------------- */

/* The tables of every document with trees, in this order. */
/* clang-format off */
#define TREE_FORMS \
	&tree_trees_form, &tree_nodes_form, &tree_shown_form, &tree_metrics_form, \
	&tree_counts_form, &tree_latencies_form
/* clang-format on */
extern const struct table_form tree_trees_form, tree_nodes_form, tree_shown_form, tree_metrics_form,
	tree_counts_form, tree_latencies_form;

/* The trees, and the latencies behind them. `aside`: the main table is another one. */
void tree_put_tables(struct document *d, const struct tree_report *r, bool aside);
void tree_put_latencies(struct document *d, const struct tree_report *r);
/* Adds a table whose columns begin with TREE_PLACE; its ctx becomes the report. */
void tree_put_table(struct document *d, const struct tree_report *r, const struct table_form *f,
		    struct table t);
table_get tree_get_time;

/* clang-format off */
#define TREE_PLACE(...) \
	COLUMN("time", "time", T_SECONDS, C_KEY, "end of the interval", .get = tree_get_time), \
	COLUMN("where", "where", T_TEXT, C_KEY | C_SPARSE, "the place; null: there is one", \
	       __VA_ARGS__)
/* clang-format on */

#endif
