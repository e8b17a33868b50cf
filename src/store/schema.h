/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema - the raw tables that a recording has for SQL, from schema.def: names, kinds, units,
 * meanings. All static; storing and querying use the same tables and columns.
 */
#ifndef CYCLADE_STORE_SCHEMA_H
#define CYCLADE_STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "show/table.h"

enum store_table {
#define STORE_TABLE(name, text) STORE_##name,
#define STORE_COLUMN(table, name, kind, unit, means, from, get, which)
#include "store/schema.def"
#undef STORE_TABLE
	STORE_TABLES
};

/* Columns of all tables, in their order. */
enum store_column_id {
#undef STORE_COLUMN
#define STORE_TABLE(name, text)
#define STORE_COLUMN(table, name, kind, unit, means, from, get, which) C_##table##_##name,
#include "store/schema.def"
#undef STORE_TABLE
#undef STORE_COLUMN
	STORE_COLUMNS
};

struct store_table_row {
	const char *name, *text;
	enum store_column_id first;
	int n; /* of store_columns, from `first` on */
};

extern const struct table_column store_columns[STORE_COLUMNS]; /* their getters: raw.h */

/* All tables; *out has STORE_TABLES rows. */
void store_tables(struct store_table_row *out);
enum store_table store_table_of(enum store_column_id column);
bool store_is_blob(const struct table_column *c);
/* Returns the declared type of a column of the kind in SQL: "ADDRESS INT", "TEXT", ... The first
 * word is the kind, by which store_kind_of() finds it again; false: it is none of these. */
const char *store_sql_type(enum table_kind k, bool blob);
bool store_kind_of(const char *sql_type, enum table_kind *out);

#endif
