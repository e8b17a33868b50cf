/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_rows - rows of a table in few bytes: FORMAT.md's ROWS. Cells are gathered by column; each
 * column is then written in the way that repeats least.
 *
 *	pack_rows_open(&g, columns)
 *	... *pack_rows_cell(&g, 0): one value is written, and so on for each column; then
 *	pack_rows_next(&g)
 *	pack_rows_put(&g, &json, "rows")
 *	pack_rows_free(&g)	once; open may follow put
 *
 * Rows are held until they are put: as many bytes as they have as an array of rows.
 */
#ifndef CYCLADE_SHOW_PACK_ROWS_H
#define CYCLADE_SHOW_PACK_ROWS_H

#include "base/json.h"

struct pack_column;

struct pack_rows {
	struct pack_column *column;
	size_t n_columns, room; /* room: of `column` */
	size_t n;		/* rows */
	bool failed;		/* out of memory */
};

void pack_rows_open(struct pack_rows *g, size_t columns);
/* Where the next cell of a column is written. Good until pack_rows_next(). */
struct json *pack_rows_cell(struct pack_rows *g, size_t column);
void pack_rows_next(struct pack_rows *g);
size_t pack_rows_bytes(const struct pack_rows *g); /* held */
/* `bare`: one column, whose cells stand there without rows. */
void pack_rows_put(struct pack_rows *g, struct json *j, const char *key, bool bare);
void pack_rows_free(struct pack_rows *g); /* { 0 } is fine */

#endif
