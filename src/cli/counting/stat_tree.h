/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat_tree - `stat` without -e: counting; what is said about it is drill_report.h's.
 */
#ifndef CYCLADE_CLI_STAT_TREE_H
#define CYCLADE_CLI_STAT_TREE_H

#include "cli/counting/tree_repeats.h"
#include "cli/counting_out.h"
#include "cli/stat.h"
#include "measure/drill.h"
#include "report/tree_view.h"

struct stat_tree {
	struct cli *cli;
	struct measure_opts opts;
	struct counting k;
	struct drill d;
	struct counting_out out;
	struct arena a; /* of one printing */
	struct tree_repeats repeats;
	uint64_t run, passes, interval_from;
	bool again, cut_short;
	char no_pmu[256];
};

#endif
