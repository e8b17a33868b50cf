/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * models - the texts behind the tree: checked, or written out so that a person can change them.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/model_choice.h"
#include "model/account.h"
#include "model/import.h"

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

static void check_account(struct findings *f, const struct model_sources *s, struct model *m)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct account *acc;

	if (!account_load(&acc, &a, m, s, &err)) {
		(void)account_check(acc, doubt, f);
	} else if (err.code != ERR_NOT_FOUND) {
		buf_printf(&f->text, "%s: %s\n", m->id, err.what);
		if (err.hint[0])
			buf_printf(&f->text, "%s\n", err.hint);
		f->doubts++;
	}
	arena_free(&a);
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
	check_account(f, s, m);
	model_free(m);
}

static int check(struct cli *cli)
{
	struct model_sources s = cli_model_sources(cli);
	struct findings f = { .text = BUF_INIT };
	const struct model_row *row;
	struct err err = ERR_INIT;
	const char *id;
	size_t n;
	int code;

	if (cli->args.n > 1) {
		for (size_t i = 1; i < cli->args.n; i++) {
			if (model_named(&id, &cli->arena, &s, cli->args.v[i], NULL, &err))
				return cli_fail(&err);
			check_one(&f, &s, id);
		}
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
	x->n++;
	return file_put(full, 0666, text, len, x->err);
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

/* ---- import ---- */

#define IMPORT_FILES_MAX 256u
#define IMPORT_FILE_MAX	 (64u << 20)
#define IMPORT_DEPTH	 3u

struct import_job {
	struct cli *cli;
	VEC(struct import_file) files;
	struct err *err;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct import_file *)a)->name, ((const struct import_file *)b)->name);
}

static int import_read(struct import_job *j, const char *path)
{
	struct buf b = BUF_INIT;
	struct import_file f = { .len = 0 };
	int rc = -1;

	if (j->files.n >= IMPORT_FILES_MAX)
		return err_set(j->err, ERR_LIMIT, "more than %u files", IMPORT_FILES_MAX);
	if (file_slurp(&b, path, IMPORT_FILE_MAX, j->err))
		return -1;
	f.len = b.len;
	f.s = arena_strndup(&j->cli->arena, buf_str(&b), b.len);
	f.name = arena_strdup(&j->cli->arena, path);
	rc = f.s && f.name && !vec_push(&j->files, f) ? 0 : err_nomem(j->err);
	buf_free(&b);
	return rc;
}

/* A file, or all *.json of a directory and those in it. */
static int import_find(struct import_job *j, const char *path, unsigned depth)
{
	struct stat st;
	struct dirent *e;
	DIR *dir;
	int rc = 0;

	if (stat(path, &st))
		return err_sys(j->err, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return import_read(j, path);
	dir = opendir(path);
	if (!dir)
		return err_sys(j->err, "%s", path);
	while (!rc && (e = readdir(dir))) {
		size_t n = strlen(e->d_name);
		char full[4096];

		if (*e->d_name == '.' || path_join(full, sizeof(full), path, e->d_name) ||
		    stat(full, &st))
			continue;
		if (S_ISDIR(st.st_mode) ? depth < IMPORT_DEPTH
					: n > 5 && !strcmp(e->d_name + n - 5, ".json"))
			rc = import_find(j, full, depth + 1);
	}
	(void)closedir(dir);
	return rc;
}

/* Loads what was made before anything of it is written: what cannot be used is not left behind. */
static int import_try(const struct model_imported *made, const char *id, struct findings *f,
		      struct err *err)
{
	struct model_text text[4];
	struct model_sources s = { .text = text, .n_texts = 4 };
	struct model *m;

	for (int i = 0; i < 4; i++)
		text[i] =
			(struct model_text){ made->path[i], made->text[i], strlen(made->text[i]) };
	if (model_load(&m, &s, id, NULL, err))
		return err_prefix(err, "what was imported cannot be used");
	f->loaded++;
	(void)model_check(m, doubt, f);
	model_free(m);
	return 0;
}

static int import_into(struct import_job *j, struct buf *b)
{
	struct cli *cli = j->cli;
	const char *dir = cli->args.v[1], *id = cli->opt.model;
	struct import_facts facts = { .id = id };
	struct model_sources none = { .dir = NULL };
	struct findings f = { .text = BUF_INIT };
	struct model_imported made;
	struct model *known = NULL;
	int rc = -1;

	for (size_t i = 2; i < cli->args.n; i++)
		if (import_find(j, cli->args.v[i], 0))
			return -1;
	vec_sort(&j->files, by_name);
	if (!model_load(&known, &none, id, NULL, NULL))
		facts.known = known;
	if (model_import(&made, &cli->arena, j->files.v, j->files.n, &facts, j->err) ||
	    import_try(&made, id, &f, j->err))
		goto out;
	for (int i = 0; i < 4; i++) {
		struct export x = { cli, dir, j->err, 0 };

		if (export_one(&x, made.path[i], made.text[i], strlen(made.text[i])))
			goto out;
	}
	buf_printf(b, "%s: %zu events, %zu nodes, %zu metrics from %zu file%s in %s\n", id,
		   made.events, made.nodes, made.metrics, j->files.n, j->files.n == 1 ? "" : "s",
		   dir);
	for (size_t i = 0; i < made.n_notes; i++) {
		buf_puts(b, "  ");
		text_put_safe(b, made.note[i], false);
		buf_putc(b, '\n');
	}
	if (f.doubts)
		buf_printf(b, "  %zu doubts: cyclade models check --models %s %s\n", f.doubts, dir,
			   id);
	if (!cli->opt.quiet)
		buf_printf(b, "next: cyclade list nodes --models %s --model %s\n", dir, id);
	rc = 0;
out:
	buf_free(&f.text);
	model_free(known);
	return rc;
}

/* An id is one directory. */
static bool id_fits(const char *s)
{
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
	return *s && strlen(s) < 64;
}

static int import(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct import_job j = { .cli = cli, .err = &err };
	struct buf b = BUF_INIT;
	int code;

	if (cli->args.n < 3 || !cli->opt.model || !id_fits(cli->opt.model)) {
		(void)err_set(&err, ERR_USAGE,
			      cli->args.n < 3
				      ? "models import needs a directory to write to, and files"
			      : cli->opt.model ? "--model: an id has letters, digits, - and _"
					       : "models import needs --model: what to call it");
		(void)err_hint(&err,
			       "cyclade models import mymodels perfmon/SPR/events --model spr");
		return cli_fail(&err);
	}
	code = import_into(&j, &b) ? cli_fail(&err) : cli_put(cli, &b, false);
	vec_free(&j.files);
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
	if (!strcmp(word, "import"))
		return import(cli);
	(void)err_set(&err, ERR_USAGE,
		      *word ? "models knows check, export and import, not '%.60s'"
			    : "models needs to know what%.0s",
		      word);
	(void)err_hint(&err, "cyclade models check   or   cyclade models export DIR");
	return cli_fail(&err);
}
