/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandboxing - the rights that a command that only reads recordings keeps (base/sandbox.h).
 *
 *	cli_sandbox(cli, also)		once its options are known, before it opens anything
 *	cli_end_fetching(cli)		at its end
 *
 * It writes below the directory of its output, into the symbol cache, and into the directory for
 * temporary files if it makes some; with --sysroot it reads only below that, files named on the
 * command line, and the system's own libraries and settings. Without --sysroot a recording may name
 * any file as a program or a library: reading is left alone then.
 */
#ifndef CYCLADE_CLI_SANDBOXING_H
#define CYCLADE_CLI_SANDBOXING_H

#include "cli/cli.h"

/* Whether the command only reads; view starts a browser, and so enters by itself. */
bool cli_only_reads(const struct cli *cli);
/* `also` NULL, or one more file that is written. If it fails, that is reported, and the command
 * goes on without. */
void cli_sandbox(struct cli *cli, const char *also);
/* Ends the process that fetches debug information (base/fetcher.h), which cli_sandbox() starts, and
 * prints what it fetched, and what not. */
void cli_end_fetching(const struct cli *cli);

#endif
