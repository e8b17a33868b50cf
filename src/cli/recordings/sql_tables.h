/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sql_tables - the results that SQL has as tables, and the list of all tables and columns.
 */
#ifndef CYCLADE_CLI_SQL_TABLES_H
#define CYCLADE_CLI_SQL_TABLES_H

#include "cli/recordings/result.h"
#include "store/sql.h"

#define SQL_SAVED 4 /* kinds of saved results */

/* Those of result_kinds that need no function, ids by place; then those that can be saved as JSON,
 * whose ids are RESULT_COUNT. */
struct sql_kinds {
	struct sql_result result[RESULT_COUNT + SQL_SAVED];
	enum result_id id[RESULT_COUNT + SQL_SAVED];
	size_t n;
};
extern const struct document_form *const sql_saved_forms[SQL_SAVED];
void sql_kinds(struct sql_kinds *out);

/* Shows the tables and columns that a pattern means (NULL: all), with those of traces (or NULL).
 * Returns the exit code; -1: there is none, and nothing was printed. */
int sql_tables_show(struct cli *cli, const struct trace_tables *traces, const char *pattern);
/* The same of derived events of IBS. */
int sql_ibs_show(struct cli *cli, const char *pattern);

#endif
