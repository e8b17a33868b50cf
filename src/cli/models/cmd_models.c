/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * models - the texts behind the tree: checked, or written out so that a person can change them.
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/fs.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "cli/model_choice.h"
#include "model/account.h"
#include "model/core.h"
#include "model/import.h"
#include "report/models.h"
#include "symbol/insn_op.h"

struct checking {
	struct cli *cli;
	const char *id; /* of the model that is looked at */
	struct models_checked found;
};

static void add_finding(struct checking *c, const char *text, const char *hint, bool refused)
{
	struct arena *a = &c->cli->arena;

	*vec_xadd(&c->found.finding) =
		(struct models_finding){ .model = arena_xstrdup(a, c->id),
					 .text = arena_xstrdup(a, text),
					 .hint = hint ? arena_xstrdup(a, hint) : NULL,
					 .refused = refused };
	if (refused)
		c->found.refused++;
	else
		c->found.doubts++;
}

static void doubt(void *ctx, const char *text)
{
	add_finding(ctx, text, NULL, false);
}

/* The reason why a model, or its account, was not loaded. */
static void add_failure(struct checking *c, const struct err *err, bool refused)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%s: %s", c->id, err->what);
	add_finding(c, buf_str(&b), err->hint[0] ? err->hint : NULL, refused);
	buf_free(&b);
}

static void check_account(struct checking *c, const struct model_sources *s, struct model *m)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct account *acc;

	if (!account_load(&acc, &a, m, s, &err))
		(void)account_check(acc, doubt, c);
	else if (err.code != ERR_NOT_FOUND)
		add_failure(c, &err, false);
	arena_free(&a);
}

static bool is_operation(const char *name)
{
	static const char *const more[] = { "forward", "forward-vector", "blocked", "atomic" };
	static const char sum[] = "-sum";
	size_t len = strcspn(name, "."); /* fadd.512 */

	if (len > sizeof(sum) - 1 && !memcmp(name + len - (sizeof(sum) - 1), sum, sizeof(sum) - 1))
		len -= sizeof(sum) - 1;

	for (size_t i = 0; i < INSN_OPS; i++)
		if (strlen(insn_op_name((enum insn_op)i)) == len &&
		    !memcmp(insn_op_name((enum insn_op)i), name, len))
			return true;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		if (!strcmp(more[i], name))
			return true;
	return false;
}

/* Latencies: none is missing, none is of an operation that is never asked for. */
static void check_core(struct checking *c, const struct model_sources *s, const struct model *m)
{
	unsigned machine = strcmp(m->vendor, "arm") != 0 ? EM_X86_64 : EM_AARCH64;
	const char *id = c->id;
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct core *core;

	if (core_load(&core, &a, s, id, &err)) {
		if (err.code != ERR_NOT_FOUND)
			add_failure(c, &err, false);
		goto out;
	}
	for (size_t i = 0; i < core->n; i++) {
		const struct core_op *op = &core->op[i];

		if (is_operation(op->name))
			continue;
		buf_printf(&b, "%s:%u: no operation is called %s", op->file, op->line, op->name);
		doubt(c, buf_str(&b));
		buf_reset(&b);
	}
	for (size_t i = 0; i < INSN_OPS; i++) {
		const char *name = insn_op_name((enum insn_op)i);

		if (i == OP_OTHER || !insn_op_is_of((enum insn_op)i, machine) ||
		    core_find(core, name, 0))
			continue;
		buf_printf(&b, "%s: the latency of %s is missing (src/symbol/insn_op.def)", id,
			   name);
		doubt(c, buf_str(&b));
		buf_reset(&b);
	}
out:
	buf_free(&b);
	arena_free(&a);
}

static void check_one(struct checking *c, const struct model_sources *s, const char *id)
{
	struct err err = ERR_INIT;
	struct model *m;

	c->id = id;
	if (model_load(&m, s, id, NULL, &err)) {
		add_failure(c, &err, true);
		return;
	}
	c->found.loaded++;
	(void)model_check(m, doubt, c);
	check_account(c, s, m);
	check_core(c, s, m);
	model_free(m);
}

static int check_all(struct checking *c, struct err *err)
{
	struct cli *cli = c->cli;
	struct model_sources s = cli_model_sources(cli);
	const struct model_row *row;
	const char *id;
	size_t n;

	for (size_t i = 1; i < cli->args.n; i++) {
		if (model_named(&id, &cli->arena, &s, cli->args.v[i], NULL, err))
			return -1;
		check_one(c, &s, id);
	}
	if (cli->args.n > 1)
		return 0;
	if (model_list(&cli->arena, &s, &row, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		check_one(c, &s, row[i].id);
	return 0;
}

static int check_models(struct cli *cli)
{
	struct checking c = { .cli = cli };
	struct err err = ERR_INIT;
	struct document d;
	struct show show;
	int code;

	if (cli_show(cli, &show, &models_checked_document, &err) || check_all(&c, &err)) {
		code = cli_fail(&err);
	} else {
		document_open(&d, &models_checked_document, &c.found);
		models_checked_put(&d, &c.found);
		code = cli_document(cli, &d, &show);
		document_close(&d);
		if (code == EXIT_OK && c.found.finding.n)
			code = EXIT_NO;
	}
	vec_free(&c.found.finding);
	return code;
}

/* ---- export ---- */

struct export
{
	struct cli *cli;
	struct models_written *w;
	struct err *err;
};

static int export_one(void *ctx, const char *path, const char *text, size_t len)
{
	struct export *x = ctx;
	const char *kept = arena_strdup(&x->cli->arena, path);
	char full[4096];
	char *slash;

	if (path_join(full, sizeof(full), x->w->dir, path))
		return err_set(x->err, ERR_LIMIT, "%.80s: the path is too long", x->w->dir);
	if (file_look(full, NULL)) {
		(void)err_set(x->err, ERR_USAGE, "%.300s is there already", full);
		return err_hint(x->err, "export into an empty directory");
	}
	slash = strrchr(full, '/');
	*slash = '\0';
	if (dir_make_all(full, 0777, x->err))
		return -1;
	*slash = '/';
	vec_xpush(&x->w->file, kept);
	return file_put(full, 0666, FILE_NEW_NAMED, text, len, x->err);
}

static int show_written(struct cli *cli, const struct models_written *w, const struct show *show)
{
	struct document d;
	int code;

	document_open(&d, &models_written_document, w);
	models_written_put(&d, w);
	code = cli_document(cli, &d, show);
	document_close(&d);
	return code;
}

static int export(struct cli *cli)
{
	struct models_written w = { .dir = cli->args.n == 2 ? cli->args.v[1] : NULL };
	struct err err = ERR_INIT;
	struct export x = { cli, &w, &err };
	struct show show;
	int code;

	if (!w.dir) {
		(void)err_set(&err, ERR_USAGE, "models export needs one directory");
		(void)err_hint(&err, "cyclade models export models");
		return cli_fail(&err);
	}
	if (cli_show(cli, &show, &models_written_document, &err) ||
	    model_texts(&cli->arena, export_one, &x, &err))
		code = cli_fail(&err);
	else
		code = show_written(cli, &w, &show);
	vec_free(&w.file);
	return code;
}

/* ---- import ---- */

#define IMPORT_FILES_MAX 256u
#define IMPORT_FILE_MAX	 (64u << 20)
#define IMPORT_DEPTH	 3u

struct import_job {
	struct cli *cli;
	struct models_written w;
	VEC(struct import_file) files;
	struct err *err;
};

static int by_model_name(const void *a, const void *b)
{
	return strcmp(((const struct import_file *)a)->name, ((const struct import_file *)b)->name);
}

static int import_read(struct import_job *j, const char *path)
{
	struct buf b = BUF_INIT;
	struct import_file f = { .len = 0 };

	if (j->files.n >= IMPORT_FILES_MAX)
		return err_set(j->err, ERR_LIMIT, "more than %u files", IMPORT_FILES_MAX);
	if (file_slurp(&b, path, IMPORT_FILE_MAX, j->err))
		return -1;
	f.len = b.len;
	f.s = arena_xstrndup(&j->cli->arena, buf_str(&b), b.len);
	f.name = arena_xstrdup(&j->cli->arena, path);
	vec_xpush(&j->files, f);
	buf_free(&b);
	return 0;
}

/* A file, or all *.json of a directory and those in it. */
static int import_find(struct import_job *j, const char *path, unsigned depth)
{
	struct stat st;
	struct dirent *e;
	DIR *dir;
	int rc = 0;

	if (!file_look(path, &st))
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
		    !file_look(full, &st))
			continue;
		if (S_ISDIR(st.st_mode) ? depth < IMPORT_DEPTH
					: n > 5 && !strcmp(e->d_name + n - 5, ".json"))
			rc = import_find(j, full, depth + 1);
	}
	(void)closedir(dir);
	return rc;
}

/* Loads the new model before anything of it is written: a useless one is not left behind. */
static int import_try(struct import_job *j, const struct model_imported *made, struct err *err)
{
	struct checking c = { .cli = j->cli, .id = j->w.id };
	struct model_text text[4];
	struct model_sources s = { .text = text, .n_texts = 4 };
	struct model *m;

	for (int i = 0; i < 4; i++)
		text[i] =
			(struct model_text){ made->path[i], made->text[i], strlen(made->text[i]) };
	if (model_load(&m, &s, j->w.id, NULL, err))
		return err_prefix(err, "what was imported cannot be used");
	j->w.doubts = model_check(m, doubt, &c);
	model_free(m);
	vec_free(&c.found.finding);
	return 0;
}

static int import_into(struct import_job *j)
{
	struct cli *cli = j->cli;
	struct import_facts facts = { .id = j->w.id };
	struct export x = { cli, &j->w, j->err };
	struct model_sources none = { .dir = NULL };
	struct model_imported made;
	struct model *known = NULL;
	int rc = -1;

	for (size_t i = 2; i < cli->args.n; i++)
		if (import_find(j, cli->args.v[i], 0))
			return -1;
	vec_sort(&j->files, by_model_name);
	if (!model_load(&known, &none, j->w.id, NULL, NULL))
		facts.known = known;
	if (model_import(&made, &cli->arena, j->files.v, j->files.n, &facts, j->err) ||
	    import_try(j, &made, j->err))
		goto out;
	for (int i = 0; i < 4; i++)
		if (export_one(&x, made.path[i], made.text[i], strlen(made.text[i])))
			goto out;
	j->w.events = made.events;
	j->w.nodes = made.nodes;
	j->w.metrics = made.metrics;
	j->w.sources = j->files.n;
	for (size_t i = 0; i < made.n_notes; i++)
		vec_xpush(&j->w.note, made.note[i]);
	rc = 0;
out:
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
	struct import_job j = { .cli = cli, .w.id = cli->opt.model, .err = &err };
	struct show show;
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
	j.w.dir = cli->args.v[1];
	if (cli_show(cli, &show, &models_written_document, &err) || import_into(&j))
		code = cli_fail(&err);
	else
		code = show_written(cli, &j.w, &show);
	vec_free(&j.files);
	vec_free(&j.w.file);
	vec_free(&j.w.note);
	return code;
}

int cmd_models(struct cli *cli)
{
	const char *word = cli->args.n ? cli->args.v[0] : "";
	struct err err = ERR_INIT;

	if (!strcmp(word, "check"))
		return check_models(cli);
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
