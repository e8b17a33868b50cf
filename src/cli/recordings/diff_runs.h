/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff_runs - recordings opened for diff and sum, each with the document of its functions.
 *
 *	diff_runs_begin(&r, cli, &err)		what --with names, too
 *	diff_runs_open(&r, &run, path, &err)
 *	diff_runs_close(&r)			after what was made of them
 */
#ifndef CYCLADE_CLI_DIFF_RUNS_H
#define CYCLADE_CLI_DIFF_RUNS_H

#include "base/vec.h"
#include "cli/recordings/results.h"
#include "report/diff.h"

struct diff_runs {
	struct cli *cli;
	struct cli by_line; /* the same, with rows by line */
	bool lines, blocks, memory;
	VEC(struct results *) results;
};

int diff_runs_begin(struct diff_runs *r, struct cli *cli, struct err *err) MUST_USE;
int diff_runs_open(struct diff_runs *r, struct diff_run *run, const char *path,
		   struct err *err) MUST_USE;
void diff_runs_close(struct diff_runs *r);

#endif
