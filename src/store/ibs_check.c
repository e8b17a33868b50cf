/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expressions of users' own events of IBS, compiled over a row of nulls with the columns of their
 * table.
 */
#include <string.h>

#include "store/ibs_own.h"
#include "store/schema.h"
#include "store/sqlite_int.h"

static void put_own_query(struct buf *b, const char *expression, const char *table)
{
	struct store_table_row row[STORE_TABLES];
	const char *sep = "";

	store_tables(row);
	buf_printf(b, "SELECT (%s) FROM (SELECT ", expression);
	for (int c = 0; c < STORE_COLUMNS; c++) {
		if (strcmp(row[store_table_of((enum store_column_id)c)].name, table) != 0)
			continue;
		buf_printf(b, "%sNULL AS \"%s\"", sep, store_columns[c].key);
		sep = ", ";
	}
	buf_puts(b, ")");
}

static int check_expression(sqlite3 *db, const struct ibs_event *e, const char *key,
			    const char *expression, struct err *err)
{
	struct buf b = BUF_INIT;
	sqlite3_stmt *s = NULL;
	const char *tail = "";
	int rc = SQLITE_NOMEM, ret = 0;

	put_own_query(&b, expression, e->table);
	if (!b.failed)
		rc = sqlite.prepare_v2(db, buf_str(&b), -1, &s, &tail);
	if (rc == SQLITE_NOMEM) {
		ret = err_nomem(err);
	} else if (rc != SQLITE_OK || *tail || sqlite.column_count(s) != 1) {
		(void)err_set(err, ERR_USAGE, "%s: event %s, %s: %s", e->from, e->name, key,
			      rc == SQLITE_OK ? "more than one expression" : sqlite.errmsg(db));
		ret = err_hint(err, "cyclade list tables %s shows the columns", e->table);
	}
	(void)sqlite.finalize(s);
	buf_free(&b);
	return ret;
}

int ibs_own_check(const struct ibs_own *own, struct err *err)
{
	sqlite3 *db = NULL;
	int ret = 0;

	if (!own->n)
		return 0;
	if (sqlite_open(err))
		return -1;
	if (sqlite.open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		ret = err_nomem(err);
	for (size_t i = 0; !ret && i < own->n; i++)
		ret = check_expression(db, &own->event[i], "where", own->event[i].predicate, err) ||
				      check_expression(db, &own->event[i], "value",
						       own->event[i].value, err)
			      ? -1
			      : 0;
	(void)sqlite.close(db);
	return ret;
}
