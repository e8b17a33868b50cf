/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cli_sample - a recording from its first record to its last, for record and run.
 */
#ifndef CYCLADE_CLI_SAMPLE_H
#define CYCLADE_CLI_SAMPLE_H

#include "cli/cli.h"
#include "report/sampled_tree.h"

/* Until sampling_next() is over. SIGUSR1 prints to standard error the file's counts so far, and the
 * tree, if `t` (NULL: none) has one. */
int cli_sample(struct cli *cli, struct sampling *s, struct sampled_tree *t,
	       struct err *err) MUST_USE;
/* Prints that deep stacks lowered the rate, if they did. */
void cli_sample_rate_note(const struct cli *cli, const struct sampling_result *res);

#endif
