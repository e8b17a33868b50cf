/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade sql [FILE...] [QUERY] - see doc/cyclade-sql.1.md. Without a query, one is read from
 * standard input; at a terminal, one after the other.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/sample_frames.h"
#include "base/file_in.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "cli/derived.h"
#include "cli/recordings/results.h"
#include "cli/recordings/sql_shell.h"
#include "cli/recordings/sql_tables.h"
#include "store/saved.h"

#define TIMEOUT	  ((uint64_t)600 * 1000000000)
#define QUERY_MAX ((size_t)1 << 20)

struct asked {
	struct cli *cli;
	const char *query;    /* NULL: standard input */
	struct results **r;   /* by run: of a recording */
	struct saved **saved; /* by run: or a result that was saved */
	struct sql_kinds kinds;
	struct raw_run *run;
	size_t n_runs;
	struct sql_opts opts;
	struct trace_tables traces;
	struct sql *db;
	struct show show;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static bool is_interrupted(void *ctx)
{
	(void)ctx;
	return interrupted;
}

/* ---- the runs -------------------------------------------------------------------------------- */

/* A word that is no file is a query: it has blanks, or is a command as .schema. */
static bool is_query(const char *word)
{
	return !file_look(word, NULL) && (strpbrk(word, " \t\n(;") || strspn(word, ".") == 1);
}

/* The last operand is the query, unless it names a file. */
static void take_query(struct asked *a)
{
	struct text_list *args = &a->cli->args;

	if (args->n && is_query(args->v[args->n - 1]))
		a->query = args->v[--args->n];
}

static int open_sql_run(struct asked *a, const char *path, struct err *err)
{
	const struct recording *r;
	size_t i = a->n_runs;

	if (saved_is(path)) {
		a->run[a->n_runs++] = (struct raw_run){ .input = path };
		return saved_open(&a->saved[i], path, sql_saved_forms, SQL_SAVED, err);
	}
	if (results_open(&a->r[i], a->cli, path, err))
		return -1;
	r = results_recording(a->r[i]);
	a->run[a->n_runs++] =
		(struct raw_run){ path, r->rec, r->spaces, machine_of_arch(pd_info(r->rec)->arch) };
	return 0;
}

/* Operands that are neither the query nor a recording. */
static int refuse_operands(const struct cli *cli, struct err *err)
{
	for (size_t i = 0; i < cli->args.n; i++) {
		if (is_query(cli->args.v[i])) {
			(void)err_set(err, ERR_USAGE, "%s: cyclade sql takes one query",
				      cli->args.v[i]);
			return err_hint(
				err, "without a query, cyclade sql FILE reads one after the other");
		}
	}
	if (cli->opt.input && cli->args.n) {
		(void)err_set(err, ERR_USAGE, "%s: -i names the recording already", cli->args.v[0]);
		return err_hint(err, "several recordings are operands, without -i: "
				     "cyclade sql A.data B.data QUERY");
	}
	return 0;
}

static int open_runs(struct asked *a, struct err *err)
{
	struct cli *cli = a->cli;
	size_t n = cli->args.n + 1;

	if (refuse_operands(cli, err))
		return -1;
	a->r = xcalloc(n, sizeof(struct results *));
	a->saved = xcalloc(n, sizeof(struct saved *));
	a->run = xcalloc(n, sizeof(*a->run));
	do {
		const char *path = cli_input(cli, err);

		if (!path || open_sql_run(a, path, err))
			return -1;
	} while (cli->args.n);
	return 0;
}

static int get_saved(const struct asked *a, size_t run, size_t result, const struct document **d,
		     struct err *err)
{
	const struct sql_result *x = &a->kinds.result[result];

	*d = a->saved[run] ? saved_document(a->saved[run]) : NULL;
	if (*d && (*d)->form == x->form)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "%s has no table of '%s'", a->run[run].input, x->name);
	if (a->kinds.id[result] != RESULT_COUNT)
		return err_hint(err, "it is a saved result: name a recording as well");
	return err_hint(err,
			"save one: cyclade stat -j -o stat.json -- ./prog (the tree: without -e), "
			"compare -j -o or calibrate -j -o");
}

static int get(void *ctx, size_t run, size_t result, const struct document **d, struct err *err)
{
	const struct asked *a = ctx;
	struct document *made;
	int ret;

	if (a->kinds.id[result] == RESULT_COUNT || a->saved[run])
		return get_saved(a, run, result, d, err);
	ret = results_get(&made, a->r[run], a->kinds.id[result], NULL, err);

	*d = made;
	return ret;
}

/* How much is left of a query is not known. */
static void sql_news(void *cli)
{
	cli_progress(cli, NAN);
}

static int open_database(struct asked *a, struct err *err)
{
	const struct options *o = &a->cli->opt;
	struct sql_opts *opts = &a->opts;

	*opts = (struct sql_opts){
		.timeout_ns = o->timeout ? o->timeout : TIMEOUT,
		.memory = o->memory,
		.stop = is_interrupted,
		.progress = sql_news,
		.stop_ctx = a->cli,
		.get = get,
		.ctx = a,
	};

	if (open_runs(a, err) || derived_own(a->cli, &opts->own, err))
		return -1;
	opts->run = a->run;
	opts->n_runs = a->n_runs;
	sql_kinds(&a->kinds);
	opts->result = a->kinds.result;
	opts->n_results = a->kinds.n;
	sql_traces(&a->traces, &a->cli->arena, opts);
	return sql_open(&a->db, opts, err);
}

/* ---- queries --------------------------------------------------------------------------------- */

static int answer_query(struct asked *a, const char *text)
{
	struct err err = ERR_INIT;
	struct document d;
	int code;

	interrupted = 0;
	document_open(&d, &sql_document, NULL);
	code = sql_query(a->db, text, &d, &err);
	cli_progress_end(a->cli);
	if (code)
		code = cli_fail(&err);
	else
		code = cli_document(a->cli, &d, &a->show);
	document_close(&d);
	return code;
}

/* ---- at a terminal --------------------------------------------------------------------------- */

static void shell_query(void *a, const char *text)
{
	(void)answer_query(a, text);
}

static bool shell_schema(void *ctx, const char *pattern)
{
	const struct asked *a = ctx;

	return sql_tables_show(a->cli, &a->traces, pattern) >= 0;
}

static bool was_interrupted(void *ctx)
{
	bool was = is_interrupted(ctx);

	interrupted = 0;
	return was;
}

/* A query, or a command as the shell has them. NULL: the shell. */
static int query(struct asked *a, const char *text)
{
	const char *begin = text ? text + strspn(text, " \t\n") : NULL;
	struct sql_shell s = { .ctx = a,
			       .query = shell_query,
			       .schema = shell_schema,
			       .interrupted = was_interrupted };
	char *line;
	int code;

	if (begin && *begin != '.')
		return answer_query(a, text);
	s.table = sql_table_names(&a->cli->arena, &a->opts, &a->traces);
	s.column = sql_column_names(&a->cli->arena);
	line = arena_xprintf(&a->cli->arena, "%s", begin ? begin : "");
	code = begin ? sql_shell_command(&s, line) : sql_shell(&s);
	return code == SQL_SHELL_QUIT ? EXIT_OK : code;
}

static int read_query(struct buf *b, struct err *err)
{
	char part[4096];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), stdin)) > 0) {
		buf_put(b, part, n);
		if (b->len > QUERY_MAX)
			return err_set(err, ERR_LIMIT, "the query is longer than 1 MB");
	}
	if (ferror(stdin))
		return err_sys(err, "standard input");
	return buf_error(b, err);
}

static int query_from_stdin(struct asked *a)
{
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	int code = read_query(&b, &err) ? cli_fail(&err) : query(a, buf_str(&b));

	buf_free(&b);
	return code;
}

int cmd_sql(struct cli *cli)
{
	struct asked a = { .cli = cli };
	const struct sigaction on = { .sa_handler = on_interrupt };
	struct err err = ERR_INIT;
	int code;

	take_query(&a);
	if (cli_show(cli, &a.show, &sql_document, &err) || open_database(&a, &err)) {
		code = cli_fail(&err);
	} else {
		(void)sigaction(SIGINT, &on, NULL);
		code = a.query		      ? query(&a, a.query)
		       : isatty(STDIN_FILENO) ? query(&a, NULL)
					      : query_from_stdin(&a);
	}
	sql_close(a.db);
	for (size_t i = 0; i < a.n_runs; i++) {
		results_close(a.r[i]);
		saved_free(a.saved[i]);
	}
	free(a.r);
	free(a.saved);
	free(a.run);
	return code;
}
