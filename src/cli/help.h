/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * help - the program's own help, all of it from the tables of commands and options.
 */
#ifndef CYCLADE_CLI_HELP_H
#define CYCLADE_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

/* All are as wide as the terminal or COLUMNS, at most 80 columns; they return the exit code. */
int help_overview(const struct cli *cli, FILE *to, int code); /* `cyclade --help`: examples first */
int help_commands(const struct cli *cli);		      /* all commands with a line each */
int help_command(const struct cli *cli);		      /* `cyclade CMD --help` */
int help_version(void);
/* The option table of a command as text. */
void help_options(struct buf *b, enum command cmd, unsigned width);

#endif
