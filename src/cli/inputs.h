/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inputs - the files that a command will read, known before it begins: no output may be one of
 * them.
 */
#ifndef CYCLADE_CLI_INPUTS_H
#define CYCLADE_CLI_INPUTS_H

#include "base/err.h"
#include "cli/cli.h"

/* Once the options are read: remembers the files that they and the operands name (file_keep), the
 * programs that are to be measured among them, and fails if an output of the options, or standard
 * output, is one of these. */
int cli_inputs(struct cli *cli, struct err *err) MUST_USE;

/* Where execvp(3) finds a program; false: nowhere. */
enum { CLI_PATH_MAX = 4096 };
bool cli_program_path(char out[CLI_PATH_MAX], const char *name);

/* A library of ours that is loaded into other programs: of the build that this program is of
 * (`built`), else below the directory that it was moved to (`beside`), both from where the program
 * lies, else where it was installed. NULL: there is none. */
const char *cli_companion(struct cli *cli, const char *built, const char *beside,
			  const char *installed);

/* archive: -o is FILE.tar.zst unless it is given; before the process gives up its rights. */
void cli_archive_output(struct cli *cli);

#endif
