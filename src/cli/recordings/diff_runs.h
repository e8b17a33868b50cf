/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_runs - recordings opened for diff and sum, each with the document of its functions; and
 * results of stat -j and run -j, each run of which is one.
 *
 *	diff_runs_begin(&r, cli, &err)		with the tables of --with
 *	diff_runs_open(&r, &list, path, &err)	a recording, or those of `run -r` under a name
 *	diff_runs_close(&r)			after the results
 */
#ifndef CYCLADE_CLI_DIFF_RUNS_H
#define CYCLADE_CLI_DIFF_RUNS_H

#include "base/vec.h"
#include "cli/recordings/results.h"
#include "report/diff_counted.h"

struct diff_runs {
	struct cli *cli;
	struct cli by_line; /* the same, with rows by line */
	bool lines, blocks, memory;
	VEC(struct results *) results;
	VEC(struct results *) of_run; /* by run, in the order of opening; NULL: of a saved result */
	VEC(struct diff_counted *) counted;
};

int diff_runs_begin(struct diff_runs *r, struct cli *cli, struct err *err) MUST_USE;
/* Adds to the list, in the order of the names. */
int diff_runs_open(struct diff_runs *r, diff_run_list *list, const char *path,
		   struct err *err) MUST_USE;
void diff_runs_close(struct diff_runs *r);

#endif
