/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sql_int - shared by the files that use SQLite.
 */
#ifndef CYCLADE_STORE_SQL_INT_H
#define CYCLADE_STORE_SQL_INT_H

#include "store/ibs_event.h"
#include "store/sql.h"
#include "store/sqlite_int.h"
#include "store/trace_tables.h"

struct sql {
	sqlite3 *db;
	struct sql_opts o;
	struct raw_runs *runs;
	struct arena a;
	struct trace_tables traces;
	uint64_t deadline; /* ns, monotonic; 0: none */
	bool stopped, late;
	bool high;	/* the query read an address from 2^63 on */
	bool declaring; /* a table is: SQLite asks whether CREATE TABLE is allowed */
	struct err err; /* why a table failed; the first cause of a query */
};

/* Returns true if the query at hand has to end; then it is interrupted. */
bool sql_is_over(void *db);
/* For a table's method that failed: keeps `err`, and returns an error to SQLite. */
int sql_table_failed(struct sql *db, sqlite3_vtab *t, const struct err *err);
/* The columns of a virtual table; returns SQLite's code. */
int sql_declare(struct sql *db, const struct buf *create);
/* SQLite's code as an error; always -1. */
int sql_failed(struct sql *db, int rc, struct err *err);

/* A text or a blob that is not in the scratch `stays` lives as long as the query; NULL: none. */
void sql_result_cell(sqlite3_context *x, const struct table_cell *cell, bool blob,
		     const struct buf *stays);
/* Makes the views that the query names, if the event exists here; returns SQLite's code. */
int sql_ibs_views(struct sql *db, const char *query);
/* An error if no run has such samples, or its CPU cannot have the event. */
int sql_ibs_exists(struct sql *db, const struct ibs_event *e, struct err *err) MUST_USE;
/* Adds a note if one query has derived events of IBS and samples of counters. */
void sql_ibs_doubts(const struct sql *db, const char *query, struct document *d);
/* An error if a comparison has a literal from 2^63 on, which SQL takes for a negative number. */
int sql_order_check(const char *query, struct err *err) MUST_USE;
/* Adds a note if a query orders something and read such an address. */
void sql_order_doubts(const struct sql *db, const char *query, struct document *d);
int sql_tables_register(struct sql *db, struct err *err) MUST_USE;
int sql_functions_register(struct sql *db, struct err *err) MUST_USE;

#endif
