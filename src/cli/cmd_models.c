/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * models - the texts behind the tree: checked, or written out so that a person can change them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/model_choice.h"

struct findings {
	struct buf text;
	size_t doubts, refused, loaded;
};

static void doubt(void *ctx, const char *text)
{
	struct findings *f = ctx;

	buf_printf(&f->text, "%s\n", text);
	f->doubts++;
}

static void check_one(struct findings *f, const struct model_sources *s, const char *id)
{
	struct err err = ERR_INIT;
	struct model *m;

	if (model_load(&m, s, id, NULL, &err)) {
		buf_printf(&f->text, "%s: %s\n", id, err.what);
		if (err.hint[0])
			buf_printf(&f->text, "%s\n", err.hint);
		f->refused++;
		return;
	}
	f->loaded++;
	(void)model_check(m, doubt, f);
	model_free(m);
}

static int check(struct cli *cli)
{
	struct model_sources s = cli_model_sources(cli);
	struct findings f = { .text = BUF_INIT };
	const struct model_row *row;
	struct err err = ERR_INIT;
	size_t n;
	int code;

	if (cli->args.n > 1) {
		for (size_t i = 1; i < cli->args.n; i++)
			check_one(&f, &s, cli->args.v[i]);
	} else {
		if (model_list(&cli->arena, &s, &row, &n, &err))
			return cli_fail(&err);
		for (size_t i = 0; i < n; i++)
			check_one(&f, &s, row[i].id);
	}
	buf_printf(&f.text, "%zu loaded, %zu refused, %zu doubts\n", f.loaded, f.refused, f.doubts);
	code = cli_put(cli, &f.text, false);
	buf_free(&f.text);
	return code != EXIT_OK ? code : f.refused || f.doubts ? EXIT_NO : EXIT_OK;
}

/* ---- export ---- */

struct export
{
	struct cli *cli;
	const char *dir;
	struct err *err;
	size_t n;
};

static int export_one(void *ctx, const char *path, const char *text, size_t len)
{
	struct export *x = ctx;
	char full[4096];
	struct file_new f;
	char *slash;

	if (path_join(full, sizeof(full), x->dir, path))
		return err_set(x->err, ERR_LIMIT, "%.80s: the path is too long", x->dir);
	if (!access(full, F_OK)) {
		(void)err_set(x->err, ERR_USAGE, "%.300s is there already", full);
		return err_hint(x->err, "export into an empty directory");
	}
	slash = strrchr(full, '/');
	*slash = '\0';
	if (dir_make_all(full, 0777, x->err))
		return -1;
	*slash = '/';
	if (file_new_open(&f, full, 0666, x->err))
		return -1;
	if (fd_write_all(f.fd, text, len, full, x->err)) {
		file_new_abort(&f);
		return -1;
	}
	x->n++;
	return file_new_commit(&f, x->err);
}

static int export(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct export x = { cli, cli->args.n == 2 ? cli->args.v[1] : NULL, &err, 0 };
	struct buf b = BUF_INIT;
	int code;

	if (!x.dir) {
		(void)err_set(&err, ERR_USAGE, "models export needs one directory");
		(void)err_hint(&err, "cyclade models export models");
		return cli_fail(&err);
	}
	if (model_texts(&cli->arena, export_one, &x, &err))
		return cli_fail(&err);
	buf_printf(&b, "%zu files in %s\n", x.n, x.dir);
	if (!cli->opt.quiet)
		buf_printf(&b, "next: change them, then cyclade models check --models %s\n", x.dir);
	code = cli_put(cli, &b, false);
	buf_free(&b);
	return code;
}

int cmd_models(struct cli *cli)
{
	const char *word = cli->args.n ? cli->args.v[0] : "";
	struct err err = ERR_INIT;

	if (!strcmp(word, "check"))
		return check(cli);
	if (!strcmp(word, "export"))
		return export(cli);
	(void)err_set(&err, ERR_USAGE,
		      *word ? "models knows check and export, not '%.60s'"
			    : "models needs to know what%.0s",
		      word);
	(void)err_hint(&err, "cyclade models check   or   cyclade models export DIR");
	return cli_fail(&err);
}
