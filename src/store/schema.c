/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/schema.h"

#include <string.h>

#include "store/raw_int.h"

#define STORE_TABLE(name, text)
#define STORE_COLUMN(table, name, kind_, unit_, means_, from_, get_, which_) \
	{ .key = #name,                                                      \
	  .head = #name,                                                     \
	  .kind = kind_,                                                     \
	  .unit = unit_,                                                     \
	  .means = means_,                                                   \
	  .from = from_,                                                     \
	  .get = raw_get_##get_,                                             \
	  .which = which_ },
const struct table_column store_columns[STORE_COLUMNS] = {
#include "store/schema.def"
};
#undef STORE_COLUMN
#define STORE_COLUMN(table, name, kind, unit, means, from, get, which) STORE_##table,
static const uint8_t tables_of[STORE_COLUMNS] = {
#include "store/schema.def"
};
#undef STORE_TABLE
#undef STORE_COLUMN
#define STORE_TABLE(name, text) { #name, text, STORE_COLUMNS, 0 },
#define STORE_COLUMN(table, name, kind, unit, means, from, get, which)
static const struct store_table_row rows[STORE_TABLES] = {
#include "store/schema.def"
};
#undef STORE_TABLE
#undef STORE_COLUMN

void store_tables(struct store_table_row *out)
{
	memcpy(out, rows, sizeof(rows));
	for (int i = STORE_COLUMNS; i-- > 0;) {
		out[tables_of[i]].first = (enum store_column_id)i;
		out[tables_of[i]].n++;
	}
}

enum store_table store_table_of(enum store_column_id column)
{
	return (enum store_table)tables_of[column];
}

bool store_is_blob(const struct table_column *c)
{
	return c->unit && !strcmp(c->unit, "blob");
}

/* By kind. A type with INT in it makes SQLite compare texts of digits as numbers. */
static const char *const types[] = {
	[T_TEXT] = "TEXT",	  [T_LIST] = "TEXT",	     [T_ID] = "ID INT",
	[T_COUNT] = "COUNT INT",  [T_SIGNED] = "SIGNED INT", [T_ADDRESS] = "ADDRESS INT",
	[T_BYTES] = "BYTES INT",  [T_FLAG] = "FLAG INT",     [T_AMOUNT] = "AMOUNT REAL",
	[T_REAL] = "NUMBER REAL", [T_SHARE] = "SHARE REAL",  [T_SECONDS] = "SECONDS REAL",
};

const char *store_sql_type(enum table_kind k, bool blob)
{
	return blob ? "BLOB" : types[k];
}

bool store_kind_of(const char *sql_type, enum table_kind *out)
{
	for (size_t i = 0; sql_type && i < sizeof(types) / sizeof(*types); i++)
		if (i != T_LIST && !strcmp(types[i], sql_type)) {
			*out = (enum table_kind)i;
			return true;
		}
	return false;
}
