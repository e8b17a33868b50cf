/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_report - the report of a tree that was counted: the CPU and its model, the views, formulas
 * for --why, notes on doubts, next commands.
 *
 *	drill_results(d, k, a, from, to, &err)
 *	drill_report_make(&s, &report, &err)	report.head is the caller's
 *
 * Everything is in `a` and lives as long as it and the drill's trees.
 */
#ifndef CYCLADE_REPORT_DRILL_REPORT_H
#define CYCLADE_REPORT_DRILL_REPORT_H

#include "measure/drill.h"
#include "report/tree_view.h"

struct drill_report {
	struct drill *d;
	const struct counting *k;
	struct arena *a;
	bool verbose, why; /* all nodes; formulas with their values */
};

/* Views, CPU, next commands and notes. */
int drill_report_make(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;
/* The part that changes from interval to interval: views and latencies. */
int drill_report_interval(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;
/* The notes alone. */
int drill_report_notes(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;

#endif
