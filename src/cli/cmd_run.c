/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cli.h"

int cmd_run(struct cli *cli)
{
	struct err err = ERR_INIT;

	(void)cli;
	(void)err_set(&err, ERR_UNSUPPORTED, "run is not built yet");
	return cli_fail(&err);
}
