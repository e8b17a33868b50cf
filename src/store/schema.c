/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/schema.h"

#include <string.h>

#define STORE_TABLE(name, text)
#define STORE_COLUMN(table, name, kind, unit, means, from) \
	{ STORE_##table, #name, kind, unit, means, from },
const struct store_column store_columns[STORE_COLUMNS] = {
#include "store/schema.def"
};
#undef STORE_TABLE
#undef STORE_COLUMN

#define STORE_TABLE(name, text) { #name, text },
#define STORE_COLUMN(table, name, kind, unit, means, from)
static const struct {
	const char *name, *text;
} tables[STORE_TABLES] = {
#include "store/schema.def"
};
#undef STORE_TABLE
#undef STORE_COLUMN

void store_tables(struct store_table_row *out)
{
	for (int t = 0; t < STORE_TABLES; t++)
		out[t] = (struct store_table_row){ tables[t].name, tables[t].text, 0, 0 };
	for (int c = 0; c < STORE_COLUMNS; c++) {
		struct store_table_row *t = &out[store_columns[c].table];

		if (!t->n++)
			t->first = c;
	}
}

bool store_is_blob(const struct store_column *c)
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
