/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat without -e: the top-down tree of this CPU.
 */
#include "cli/stat_int.h"

int stat_tree(struct cli *cli)
{
	struct counting k;
	struct err err = ERR_INIT;
	char why[256];
	int code;

	if (counting_open(&k, cli, &err)) {
		code = cli_fail_as(&err, counting_exit_code(cli, &err));
		goto out;
	}
	stat_no_pmu(cli, why);
	if (why[0]) {
		code = stat_say_no_pmu(cli, why, k.machine.hypervisor);
		goto out;
	}
	(void)err_set(&err, ERR_UNSUPPORTED, "the tree is not counted yet");
	(void)err_hint(&err, "name events with -e");
	code = cli_fail_as(&err, counting_exit_code(cli, &err));
out:
	counting_close(&k);
	return code;
}
