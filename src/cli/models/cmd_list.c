/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list - events and metrics of this machine, or of a captured one (--sysroot), and contents of the
 * models of CPUs.
 */
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "cli/model_choice.h"
#include "cli/recordings/sql_tables.h"
#include "collect/event.h"
#include "report/kernels_tables.h"
#include "report/models.h"

/* By the word that is typed; `events` are a model's with --model. */
static const struct {
	const char *name;
	enum list_kind kind;
} lists[] = {
	{ "account", LIST_ACCOUNT }, { "events", LIST_NAMES },	{ "groups", LIST_GROUPS },
	{ "metrics", LIST_METRICS }, { "models", LIST_MODELS }, { "nodes", LIST_NODES },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Nothing matches: an event that exists all the same, or a name nearby, or where to look. */
static int no_event(struct cli *cli, const struct list_source *s, const char *pattern)
{
	const char **words = arena_alloc(&cli->arena, (s->n_names + 1) * sizeof(*words));
	struct err err = ERR_INIT;
	const char *root = cli->opt.sysroot ? cli->opt.sysroot : "";
	struct event_list known = EVENT_LIST_INIT;

	if (!event_parse(&known, root, pattern, NULL)) {
		(void)err_set(&err, ERR_NOT_FOUND,
			      "'%.100s' is an event, but nothing here counts it", pattern);
		(void)err_hint(&err, "`cyclade doctor` says what this machine can do");
	} else {
		(void)err_set(&err, ERR_NOT_FOUND, "no event here matches '%.100s'", pattern);
	}
	event_list_free(&known);
	for (size_t i = 0; words && i < s->n_names; i++)
		words[i] = s->name[i].name;
	if (words)
		words[s->n_names] = NULL;
	(void)text_suggest(&err, pattern, words, "`cyclade list events` shows all %zu", s->n_names);
	return cli_fail_as(&err, EXIT_NO);
}

static int nothing(struct cli *cli, const struct list *l, const struct list_source *s,
		   const char *pattern)
{
	struct err err = ERR_INIT;

	if (l->kind == LIST_NAMES)
		return no_event(cli, s, pattern);
	(void)err_set(&err, ERR_NOT_FOUND, "no %s match '%.100s'", list_word(l->kind), pattern);
	(void)err_hint(&err, "cyclade list %s shows all", list_word(l->kind));
	return cli_fail_as(&err, EXIT_NO);
}

/* The kernel's names for events, on this machine or the captured one. */
static int take_names(struct cli *cli, struct list_source *s, struct err *err)
{
	const char *root = cli->opt.sysroot ? cli->opt.sysroot : "";
	struct event_name *all;
	struct list_name *name;
	bool traced = false;

	if (event_names(&cli->arena, root, &all, &s->n_names, err))
		return -1;
	name = arena_xalloc(&cli->arena, (s->n_names + 1) * sizeof(*name));
	for (size_t i = 0; i < s->n_names; i++) {
		name[i] = (struct list_name){ all[i].name, all[i].kind, all[i].text };
		traced |= !strcmp(all[i].kind, "tracepoint");
	}
	s->name = name;
	if (!traced && !root[0])
		cli_note(cli, "tracepoints are not listed: tracefs is not there to read "
			      "(as root: mount -t tracefs nodev /sys/kernel/tracing)");
	return 0;
}

/* The model that the list is of; the caller frees *m. */
static int open_source(struct cli *cli, enum list_kind kind, struct list_source *s,
		       struct model **m, struct err *err)
{
	struct account *acc;

	s->texts = cli_model_sources(cli);
	if (kind == LIST_MODELS)
		return 0;
	if (kind == LIST_NAMES)
		return take_names(cli, s, err);
	if (cli_model(cli, NULL, NULL, m, err))
		return -1;
	s->m = *m;
	if (kind == LIST_ACCOUNT) {
		if (account_load(&acc, &cli->arena, *m, &s->texts, err))
			return -1;
		s->account = acc;
	}
	return 0;
}

static int show_list(struct cli *cli, enum list_kind kind, const char *pattern)
{
	const struct list_choice choice = { pattern,
					    OPTION_GIVEN(&cli->opt, limit) ? cli->opt.limit
									   : SIZE_MAX,
					    cli->opt.verbose };
	struct list_source source = { .m = NULL };
	struct err err = ERR_INIT;
	struct model *m = NULL;
	struct document d;
	struct show show;
	struct list l;
	int code;

	if (cli_show(cli, &show, list_document(kind), &err) ||
	    open_source(cli, kind, &source, &m, &err) ||
	    list_make(&l, &cli->arena, kind, &source, &choice, &err)) {
		code = cli_fail(&err);
	} else if (pattern && !l.n && !l.left_out) {
		code = nothing(cli, &l, &source, pattern);
	} else {
		document_open(&d, list_document(kind), &l);
		list_put(&d, &l);
		code = cli_document(cli, &d, &show);
		document_close(&d);
	}
	model_free(m);
	return code;
}

static int no_such_list(const char *word)
{
	const char *names[COUNT(lists) + 1] = { NULL };
	struct err err = ERR_INIT;

	for (size_t i = 0; i < COUNT(lists); i++)
		names[i] = lists[i].name;
	if (!word) {
		(void)err_set(&err, ERR_USAGE, "list needs to know what");
		(void)err_hint(&err, "cyclade list %s", command_operands[CMD_LIST]);
		return cli_fail(&err);
	}
	(void)err_set(&err, ERR_USAGE, "there is no list '%.60s'", word);
	(void)text_suggest(&err, word, names, "cyclade list %s", command_operands[CMD_LIST]);
	return cli_fail(&err);
}

/* Tables of SQL, events of IBS: of no machine. */
static int list_sql(struct cli *cli, const char *what, const char *pattern)
{
	struct err err = ERR_INIT;
	bool ibs = !strcmp(what, "ibs");
	int code = ibs ? sql_ibs_show(cli, pattern) : sql_tables_show(cli, NULL, pattern);

	if (code >= 0)
		return code;
	(void)err_set(&err, ERR_NOT_FOUND, "no %s match '%.100s'", ibs ? "events of IBS" : what,
		      pattern);
	(void)err_hint(&err, "cyclade list %s shows all", what);
	return cli_fail_as(&err, EXIT_NO);
}

static int list_kernels(struct cli *cli, const char *pattern)
{
	struct err err = ERR_INIT;
	struct document d;
	struct show show;
	int code;

	document_open(&d, &kernels_document, NULL);
	if (cli_show(cli, &show, &kernels_document, &err)) {
		code = cli_fail(&err);
	} else if (!kernels_put(&d, pattern)) {
		(void)err_set(&err, ERR_NOT_FOUND, "no kernels match '%.100s'", pattern);
		(void)err_hint(&err, "cyclade list kernels shows all");
		code = cli_fail_as(&err, EXIT_NO);
	} else {
		code = cli_document(cli, &d, &show);
	}
	document_close(&d);
	return code;
}

int cmd_list(struct cli *cli)
{
	const char *word = cli->args.n ? cli->args.v[0] : NULL;
	struct err err = ERR_INIT;

	if (cli->args.n > 2) {
		(void)err_set(&err, ERR_USAGE, "list takes one pattern, '%.60s' is one too many",
			      cli->args.v[2]);
		return cli_fail(&err);
	}
	for (size_t i = 0; word && i < COUNT(lists); i++) {
		bool of_model = lists[i].kind == LIST_NAMES && cli->opt.model;

		if (!strcmp(word, lists[i].name))
			return show_list(cli, of_model ? LIST_EVENTS : lists[i].kind,
					 cli->args.n > 1 ? cli->args.v[1] : NULL);
	}
	if (word && (!strcmp(word, "tables") || !strcmp(word, "ibs")))
		return list_sql(cli, word, cli->args.n > 1 ? cli->args.v[1] : NULL);
	if (word && !strcmp(word, "kernels"))
		return list_kernels(cli, cli->args.n > 1 ? cli->args.v[1] : NULL);
	return no_such_list(word);
}
