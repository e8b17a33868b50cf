/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cli.h"

int cmd_annotate(struct cli *cli)
{
	struct err err = ERR_INIT;

	(void)cli;
	(void)err_set(&err, ERR_UNSUPPORTED, "annotate is not built yet");
	return cli_fail(&err);
}
