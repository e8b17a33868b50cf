/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_repeats - `run -r N`: each run is recorded in a file of its own, NAME.1, NAME.2, ...; the
 * tree, the times and the functions are means with error bars from the spread of the runs.
 *
 *	run_repeats_open(&r, cli, name, n)
 *	run_repeats_file(&r)				the next run's file; NULL: no memory
 *	run_repeats_add(&r, result, tree, &err)		after each run that is complete
 *	run_repeats_drop(&r)				or: it was cut short, its file goes
 *	run_repeats_tree(&r, tree, &report, &err)	of the last run: now the means
 *	run_repeats_where(&r, &table, &n, ..., &err)	functions, of all files
 *	run_repeats_close(&r)
 *
 * diff and sum take NAME for all of its files (cli/repeats.h): there is no file NAME, and none
 * beyond the last run; older ones become FILE.old.
 */
#ifndef CYCLADE_CLI_RUN_REPEATS_H
#define CYCLADE_CLI_RUN_REPEATS_H

#include "analyse/runtimes.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "report/run.h"
#include "report/sampled_tree.h"
#include "report/tree_repeats.h"

struct run_repeats {
	struct cli *cli;
	const char *name;
	size_t wanted;
	VEC(const char *) file; /* of runs that are complete */
	bool cut_short;		/* there was one more */
	struct tree_repeats tree;
	struct repeat plain[2]; /* cycles, instructions */
	double plain_share;
	struct sampling_result all; /* added up; the rest is the last run's */
	size_t failed;		    /* runs that did not end with 0 */
	struct where_runs *where;   /* by event */
	size_t n_events;
	struct runtime_found found[RUNTIMES_MAX]; /* code without names in the first run */
	size_t n_found;
	VEC(struct run_repeat) function; /* in each run, once run_repeats_where() was called */
};

void run_repeats_open(struct run_repeats *r, struct cli *cli, const char *name, size_t n);
const char *run_repeats_file(struct run_repeats *r);
int run_repeats_add(struct run_repeats *r, const struct sampling_result *res,
		    struct sampled_tree *t, struct err *err) MUST_USE;
void run_repeats_drop(struct run_repeats *r, const struct sampling_result *res);
int run_repeats_tree(const struct run_repeats *r, struct sampled_tree *t, struct tree_report *out,
		     struct err *err) MUST_USE;
/* A table for each event that has samples, in the cli's arena, with at most `limit` rows (0: all);
 * *top: the hottest function of the event with most samples. */
int run_repeats_where(struct run_repeats *r, size_t limit, struct run_table **table, size_t *n,
		      const char **top, struct err *err) MUST_USE;
void run_repeats_close(struct run_repeats *r);

#endif
