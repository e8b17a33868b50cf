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

/* A metric as people read it: "0.71", "3.74 GHz", "41.2 %". */
void tree_put_metric(struct buf *b, const struct model_metric *m, const struct tree_node *n);
/* "+-1.3", "+-<0.1", "+-?"; nothing where there is no value. */
void tree_put_error(struct buf *b, double share, double error);

/* tree_latency.c */
void tree_term_latencies(struct buf *b, const struct tree_report *r, const struct style *st);
void tree_csv_latency(struct buf *b, double time, const struct tree_latency *l, char sep);
void tree_json_latencies(struct json *j, const struct tree_report *r);
void tree_markdown_latencies(struct buf *b, const struct tree_report *r);

#endif
