/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regions - a program's own counts, by libcyclade: `run --regions`, and `report` of the file that
 * it leaves.
 */
#ifndef CYCLADE_CLI_REGIONS_H
#define CYCLADE_CLI_REGIONS_H

#include "cli/cli.h"

/* Runs the program with a place for its table, and shows the table. Returns the exit code. */
int regions_run(struct cli *cli);

/* Does the file begin as a table of regions does? */
bool regions_file(const char *path);
/* The exit code. */
int regions_report(struct cli *cli, const char *path);
/* --json-schema of both. The exit code. */
int regions_schema(struct cli *cli);

#endif
