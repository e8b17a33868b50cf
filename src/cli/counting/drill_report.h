/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill_report - what is said about a tree that was counted: the CPU and its model, the views,
 * formulas for --why, what to believe, what to type next.
 *
 *	drill_results(d, k, a, from, to, &err)
 *	drill_report_make(&s, &report, &err)	report.head is the caller's
 *
 * Everything is in `a` and lives as long as it and the drill's trees.
 */
#ifndef CYCLADE_CLI_DRILL_REPORT_H
#define CYCLADE_CLI_DRILL_REPORT_H

#include "cli/options.h"
#include "measure/drill.h"
#include "report/tree_view.h"

struct drill_report {
	const struct options *opt;
	struct drill *d;
	const struct counting *k;
	struct arena *a;
	uint64_t passes; /* runs of the program beyond the first */
};

/* Views, CPU, next commands and notes. */
int drill_report_make(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;
/* What changes from interval to interval: views and latencies. */
int drill_report_interval(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;
/* The notes alone. */
int drill_report_notes(struct drill_report *s, struct tree_report *r, struct err *err) MUST_USE;

#endif
