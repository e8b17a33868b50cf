/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain - all about a node (of the tree, or the cycle accounting), a metric, a group or an event:
 * meaning, formula, events, when to look at it, where to go next.
 */
#include <string.h>

#include "base/text.h"
#include "cli/derived.h"
#include "cli/model_choice.h"
#include "cli/recordings/sql_tables.h"
#include "cli/verdicts.h"
#include "report/models.h"
#include "store/ibs_event.h"

/* The account, if there is one; `models check` reports its errors. */
static const struct account *account_of(struct cli *cli, struct model *m)
{
	struct model_sources s = cli_model_sources(cli);
	struct account *acc;

	return account_load(&acc, &cli->arena, m, &s, NULL) ? NULL : acc;
}

/* The options that choose models, as another command takes them; "" if memory ran out. */
static const char *options_again(struct cli *cli, bool model)
{
	const struct model_choice choice = cli_model_choice(cli);
	struct buf b = BUF_INIT;
	const char *out;

	if (model && cli->opt.model) {
		buf_puts(&b, "--model ");
		(void)text_put_word(&b, cli->opt.model);
		buf_putc(&b, ' ');
	}
	model_choice_put(&b, &choice);
	out = b.failed ? NULL : arena_strdup(&cli->arena, buf_str(&b));
	buf_free(&b);
	return out ? out : "";
}

/* Sources of names; rows of monitor are of the model's CPU. `monitor` reports errors in them. */
static struct explain_from from_of(struct cli *cli, struct model *m, struct set *rows)
{
	struct model_sources s = cli_model_sources(cli);
	bool have = !set_load(rows, &cli->arena, &s, m->id, NULL);

	return (struct explain_from){ m, account_of(cli, m), have ? rows : NULL,
				      options_again(cli, false), options_again(cli, true) };
}

/* If this machine's CPU has no model, the first model that knows the name stands in. */
static int stand_in(struct cli *cli, const char *name, struct model **out)
{
	struct model_sources s = cli_model_sources(cli);
	const struct model_row *row;
	struct explain_from from;
	struct set rows;
	size_t n;

	if (model_list(&cli->arena, &s, &row, &n, NULL))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (model_load(out, &s, row[i].id, NULL, NULL))
			continue;
		from = from_of(cli, *out, &rows);
		if (explain_knows(&from, name)) {
			cli_note(cli,
				 "no model for this machine's CPU: as %s has it (--model "
				 "takes another)",
				 row[i].id);
			return 0;
		}
		model_free(*out);
		*out = NULL;
	}
	return -1;
}

/* Verdicts of validate on events; only if the model is this machine's own. */
static void add_verdicts(struct cli *cli, struct explain *x, bool own)
{
	const struct validate_kept *k = own ? cli_verdicts_noted(cli) : NULL;

	for (size_t i = 0; k && i < x->n; i++)
		if (x->name[i].kind == EXPLAIN_EVENT)
			x->name[i].verdict = verdicts_of(cli, k, x->name[i].name);
}

int cmd_explain(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct model *m = NULL;
	struct document d;
	struct explain_from from;
	struct explain x;
	struct set rows;
	struct show show;
	const struct ibs_event *ibs;
	const struct ibs_own *own_events = NULL;
	bool own = true;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "explain needs a name");
		(void)err_hint(&err, "cyclade list nodes shows some");
		return cli_fail(&err);
	}
	/* a column of an SQL table: no name of a model has such a dot in it that is one, too */
	if (cli->args.n == 1 && strchr(cli->args.v[0], '.') && !strpbrk(cli->args.v[0], "*?[")) {
		code = sql_tables_show(cli, NULL, cli->args.v[0]);
		if (code >= 0)
			return code;
	}
	if (derived_own(cli, &own_events, &err))
		return cli_fail(&err);
	ibs = cli->args.n == 1 ? ibs_event_find(own_events, cli->args.v[0]) : NULL;
	if (ibs && ibs->name)
		return sql_ibs_show(cli, ibs->name);
	if (ibs) {
		(void)err_set(&err, ERR_NOT_FOUND, "%s is no event of IBS: %s", ibs->code,
			      ibs->means);
		(void)err_hint(&err, "cyclade list ibs shows all");
		return cli_fail_as(&err, EXIT_NO);
	}
	if (cli_show(cli, &show, &explain_document, &err))
		return cli_fail(&err);
	if (cli_model(cli, NULL, NULL, &m, &err)) {
		own = false;
		if (cli->opt.model || err.code != ERR_NOT_FOUND ||
		    stand_in(cli, cli->args.v[0], &m))
			return cli_fail(&err);
	}
	from = from_of(cli, m, &rows);
	if (explain_make(&x, &cli->arena, &from, (const char *const *)cli->args.v, cli->args.n,
			 &err)) {
		code = cli_fail(&err);
	} else {
		add_verdicts(cli, &x, own && !cli->opt.model);
		document_open(&d, &explain_document, &x);
		explain_put(&d, &x);
		code = cli_document(cli, &d, &show);
		document_close(&d);
	}
	model_free(m);
	return code;
}
