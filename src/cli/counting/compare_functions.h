/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_functions - functions as metrics of `compare`: the share of each in each run.
 *
 *	functions_open(&f, cli, most, &err)	f.path: where each run is recorded
 *	functions_ask(&f, &compare_ask)		then compare_programs()
 *	functions_close(&f)			removes the recording
 */
#ifndef CYCLADE_CLI_COMPARE_FUNCTIONS_H
#define CYCLADE_CLI_COMPARE_FUNCTIONS_H

#include "base/hash.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/temp_dir.h"
#include "measure/compare.h"

struct function_value {
	uint32_t name, run;
	double value;
};

struct functions {
	struct cli *cli;
	char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 8];
	size_t most;	     /* metrics */
	struct strtab names; /* "function:NAME" */
	VEC(struct function_value) value;
	uint32_t n_runs;
	const char *unit; /* "s", or the event's name */
	const struct compare_opts *opts;
};

int functions_open(struct functions *f, struct cli *cli, size_t most, struct err *err) MUST_USE;
void functions_ask(struct functions *f, struct compare_opts *opts);
void functions_close(struct functions *f);

#endif
