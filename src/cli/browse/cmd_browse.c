/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade browse [FILE] - see doc/cyclade-browse.1.md.
 */
#include "base/text.h"
#include "cli/browse/browse.h"
#include "cli/screen/screen.h"

/* Without a terminal: the same recording by another command. */
static int check_screen(struct cli *cli, struct err *err)
{
	const char *named = cli->opt.input ? cli->opt.input : cli->args.n ? cli->args.v[0] : NULL;
	struct buf hint = BUF_INIT;
	int ret;

	buf_puts(&hint, "cyclade report ");
	if (named) {
		buf_puts(&hint, "-i ");
		(void)text_put_word(&hint, named);
		buf_putc(&hint, ' ');
	}
	buf_puts(&hint, "shows the same, page by page");
	ret = hint.failed ? err_nomem(err) : screen_able("browse", buf_str(&hint), err);
	buf_free(&hint);
	return ret;
}

int cmd_browse(struct cli *cli)
{
	struct browse b = { 0 };
	struct err err = ERR_INIT;
	const char *path = NULL;
	int rc = -1;

	if (!check_screen(cli, &err))
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
