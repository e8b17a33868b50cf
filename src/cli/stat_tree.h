/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_tree - `stat` without -e: counting (stat_tree.c) and what is said about it
 * (stat_tree_report.c).
 */
#ifndef CYCLADE_CLI_STAT_TREE_H
#define CYCLADE_CLI_STAT_TREE_H

#include <errno.h>

#include "cli/counting_out.h"
#include "cli/counting_repeat.h"
#include "cli/drill.h"
#include "report/tree_view.h"

struct stat_tree {
	struct cli *cli;
	struct counting k;
	struct drill d;
	struct counting_out out;
	struct arena a;	      /* of one printing */
	struct repeat **runs; /* by part and metric */
	struct repeat seconds, user, sys;
	uint64_t run, passes, interval_from;
	bool again, printed;
	char no_pmu[256];
};

/* Fills in views, CPU, next commands and notes from the drill's trees; in s->a. */
int stat_tree_report(struct stat_tree *s, struct tree_report *r, struct err *err) MUST_USE;
int stat_tree_notes(struct stat_tree *s, struct tree_report *r, struct err *err) MUST_USE;

#endif
