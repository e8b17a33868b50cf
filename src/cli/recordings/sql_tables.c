/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/sql_tables.h"

#include "report/calibrate_tables.h"
#include "report/compare.h"
#include "report/counts.h"
#include "report/tree_view.h"
#include "cli/derived.h"

const struct document_form *const sql_saved_forms[SQL_SAVED] = {
	&counts_document,
	&tree_document,
	&compare_document,
	&calibrate_document,
};
static const char *const saved_names[SQL_SAVED] = { "stat", "tree", "compare", "calibrate" };

void sql_kinds(struct sql_kinds *out)
{
	out->n = 0;
	for (int i = 0; i < RESULT_COUNT; i++) {
		if (i == RESULT_ANNOTATE)
			continue;
		out->result[out->n] =
			(struct sql_result){ result_kinds[i].name, result_kinds[i].form };
		out->id[out->n++] = (enum result_id)i;
	}
	for (int i = 0; i < SQL_SAVED; i++) {
		out->result[out->n] = (struct sql_result){ saved_names[i], sql_saved_forms[i] };
		out->id[out->n++] = RESULT_COUNT;
	}
}

static int show_some(struct cli *cli, struct document *d, bool any)
{
	struct err err = ERR_INIT;
	struct show show;
	int code = -1;

	if (any)
		code = cli_show(cli, &show, d->form, &err) ? cli_fail(&err)
							   : cli_document(cli, d, &show);
	document_close(d);
	return code;
}

int sql_tables_show(struct cli *cli, const struct trace_tables *traces, const char *pattern)
{
	struct sql_kinds kinds;
	struct document d;

	sql_kinds(&kinds);
	document_open(&d, &sql_tables_document, NULL);
	return show_some(cli, &d, sql_tables_put(&d, kinds.result, kinds.n, traces, pattern));
}

int sql_ibs_show(struct cli *cli, const char *pattern)
{
	struct err err = ERR_INIT;
	const struct ibs_own *own = NULL;
	struct document d;

	if (derived_own(cli, &own, &err))
		return cli_fail(&err);
	document_open(&d, &ibs_events_document, NULL);
	return show_some(cli, &d, ibs_events_put(&d, own, pattern));
}
