/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade cache list|gc - see doc/cyclade-cache.1.md.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "symbol/copies.h"

static int list_copies(struct cli *cli, const char *dir, struct err *err)
{
	struct style st = cli_style(cli, STDOUT_FILENO);
	struct buf out = BUF_INIT;
	struct copies all;
	uint64_t sum = 0;
	char b[NUM_MAX], n[NUM_MAX];
	int code;

	if (copies_list(dir, &all, err)) {
		copies_free(&all);
		return cli_fail(err);
	}
	vec_each (&all.v, const struct copy *, c) {
		time_t used = (time_t)c->used;
		struct tm tm = { 0 };
		char day[32];

		if (!localtime_r(&used, &tm) || !strftime(day, sizeof(day), "%Y-%m-%d %H:%M", &tm))
			day[0] = '\0';
		sum += c->bytes;
		buf_printf(&out, "%s  %10s  %-5s  %-40s  ", day, num_bytes(b, c->bytes),
			   c->kind ? c->kind : "none", c->id);
		text_put_safe(&out, c->name, st.ascii);
		buf_putc(&out, '\n');
	}
	buf_printf(&out, "%s cop%s, %s, in ", num_exact(n, all.v.n), all.v.n == 1 ? "y" : "ies",
		   num_bytes(b, sum));
	text_put_safe(&out, dir, st.ascii);
	buf_puts(&out, "/copies\n");
	code = cli_put(cli, &out, false);
	buf_free(&out);
	copies_free(&all);
	return code;
}

static int remove_old(struct cli *cli, const char *dir, struct err *err)
{
	const struct options *o = &cli->opt;
	const struct copies_limit limit = {
		.bytes = OPTION_GIVEN(o, measure.copies_bytes) ? o->measure.copies_bytes
							       : COPIES_BYTES,
		.days = OPTION_GIVEN(o, measure.copies_days) ? o->measure.copies_days : COPIES_DAYS,
	};
	char b[NUM_MAX], n[NUM_MAX];
	struct copies_gone gone;

	if (copies_gc(dir, &limit, time(NULL), &gone, err))
		return cli_fail(err);
	cli_note(cli, "%s cop%s removed, %s", num_exact(n, gone.n), gone.n == 1 ? "y" : "ies",
		 num_bytes(b, gone.bytes));
	return EXIT_OK;
}

int cmd_cache(struct cli *cli)
{
	const char *dir = cli_cache_dir(cli), *what = cli->args.n == 1 ? cli->args.v[0] : "";
	struct err err = ERR_INIT;

	if (strcmp(what, "list") != 0 && strcmp(what, "gc") != 0) {
		(void)err_set(&err, ERR_USAGE, "cache needs the word list or gc");
		(void)err_hint(&err, "cyclade cache list   or   cyclade cache gc");
		return cli_fail(&err);
	}
	if (!dir) {
		(void)err_set(&err, ERR_NOT_FOUND,
			      "there is no directory for copies: neither "
			      "XDG_CACHE_HOME nor HOME names one of yours");
		return cli_fail(&err);
	}
	return !strcmp(what, "list") ? list_copies(cli, dir, &err) : remove_old(cli, dir, &err);
}
