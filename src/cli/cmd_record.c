/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cli.h"

int cmd_record(struct cli *cli)
{
	struct err err = ERR_INIT;

	(void)cli;
	(void)err_set(&err, ERR_UNSUPPORTED, "record is not built yet");
	return cli_fail(&err);
}
