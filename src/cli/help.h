/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * help - the program's own help, all of it from the tables of commands and options.
 */
#ifndef CYCLADE_CLI_HELP_H
#define CYCLADE_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

int help_overview(FILE *to, int code);
/* All commands with a line each. */
int help_commands(FILE *to);	   /* `cyclade --help`: twenty lines, examples first */
int help_command(struct cli *cli); /* `cyclade CMD --help` */
int help_version(void);
/* The option table of a command as text, `indent` columns in. */
void help_options(struct buf *b, enum command cmd, unsigned width);

#endif
