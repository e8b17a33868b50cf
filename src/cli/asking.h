/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asking - the options of stat, record and run as the room measure wants them: checked, numbers
 * parsed; and exit codes for its errors.
 */
#ifndef CYCLADE_CLI_ASKING_H
#define CYCLADE_CLI_ASKING_H

#include "cli/cli.h"
#include "measure/measure_opts.h"

/* News become notes. Its pointers lead into the cli's arena. */
int cli_measure_opts(struct cli *cli, struct measure_opts *out, struct err *err) MUST_USE;

/* 126 or 127 if the program could not be executed, else 125 with a program and 2 without. */
int cli_measuring_code(const struct cli *cli, const struct err *err);

#endif
