/* SPDX-License-Identifier: BSD-3-Clause */
/* report --account: rows by branches of the account of cycles. Returns the exit code. */
#ifndef CYCLADE_CLI_REPORT_ACCOUNT_H
#define CYCLADE_CLI_REPORT_ACCOUNT_H

#include "cli/cli.h"

int report_account(struct cli *cli, const char *path, bool named);

#endif
