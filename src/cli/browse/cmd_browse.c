/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade browse [FILE] - see doc/cyclade-browse.1.md.
 */
#include "cli/browse/browse.h"
#include "cli/screen/screen.h"

int cmd_browse(struct cli *cli)
{
	struct browse b = { 0 };
	struct err err = ERR_INIT;
	const char *path = NULL;
	int rc = -1;

	if (!screen_able("browse", "cyclade report shows the same, page by page", &err))
		path = cli_input(cli, &err);
	if (path && cli->args.n)
		(void)err_set(&err, ERR_USAGE, "'%.60s': one recording at a time", cli->args.v[0]);
	else if (path)
		rc = browse_open(&b, cli, path, &err);
	cli_progress_end(cli);
	if (!rc)
		rc = browse_run(&b, &err);
	browse_close(&b);
	return rc ? cli_fail(&err) : EXIT_OK;
}
