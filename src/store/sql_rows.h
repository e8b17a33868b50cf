/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sql_rows - the rows of a query, kept in a document as one of its tables. Formats walk a table
 * more than once, so all rows are in memory: `most` bytes, then ERR_LIMIT.
 */
#ifndef CYCLADE_STORE_SQL_ROWS_H
#define CYCLADE_STORE_SQL_ROWS_H

#include <sqlite3.h>

#include "show/document.h"

struct sql_rows; /* in the document's arena */

int sql_rows_open(struct sql_rows **out, struct document *d, sqlite3_stmt *s, uint64_t most,
		  struct err *err) MUST_USE;
int sql_rows_add(struct sql_rows *r, sqlite3_stmt *s, struct err *err) MUST_USE;
void sql_rows_end(struct sql_rows *r); /* puts the table into the document */

#endif
