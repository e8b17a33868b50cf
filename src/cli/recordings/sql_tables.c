/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/sql_tables.h"

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
}

int sql_tables_show(struct cli *cli, const char *pattern)
{
	struct err err = ERR_INIT;
	struct sql_kinds kinds;
	struct document d;
	struct show show;
	int code = -1;

	sql_kinds(&kinds);
	document_open(&d, &sql_tables_document, NULL);
	if (sql_tables_put(&d, kinds.result, kinds.n, pattern))
		code = cli_show(cli, &show, &sql_tables_document, &err)
			       ? cli_fail(&err)
			       : cli_document(cli, &d, &show);
	document_close(&d);
	return code;
}
