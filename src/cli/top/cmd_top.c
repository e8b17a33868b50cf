/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade top - see doc/cyclade-top.1.md.
 */
#include "cli/screen/screen.h"
#include "cli/top/live.h"

int cmd_top(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct live l = { 0 };
	int rc = -1;

	if (!screen_able("top", "without one: cyclade monitor --once", &err)) {
		rc = live_open(&l, cli, &err);
		if (!rc)
			rc = live_run(&l, &err);
		live_close(&l);
	}
	return rc ? cli_fail(&err) : EXIT_OK;
}
