/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sql - queries over recordings, by SQLite. Tables are the raw ones (schema.def), and those of
 * analyses, which are made when a query first touches them.
 *
 *	sql_open(&db, &opts, &err)
 *	sql_query(db, text, &document, &err)	one SELECT; its rows are a table of the document
 *	sql_close(db)				after the documents
 *
 * Closed: a query reads these tables, and nothing else. It cannot write, attach files, load
 * extensions or change settings. It ends after `timeout`, when `stop` returns true, or when it
 * needs more memory than `memory`; *err then has the cause. SQLite's memory bound is one for the
 * process.
 *
 * A build without SQLite has sql_open() fail with ERR_UNSUPPORTED; the lists of tables and columns
 * work all the same.
 */
#ifndef CYCLADE_STORE_SQL_H
#define CYCLADE_STORE_SQL_H

#include "show/document.h"
#include "store/ibs_event.h"
#include "store/raw.h"
#include "store/trace_tables.h"

/* Results as documents: of analyses of a recording, or saved ones (saved.h). */
struct sql_result {
	const char
		*name; /* of its main table, and prefix of the others: "blocks", "blocks_edges" */
	const struct document_form *form;
};

struct sql_opts {
	const struct raw_run *run;
	size_t n_runs;
	/* Results: results[i] of a run (from 0), which fails if the run has none. *d lives as long
	 * as the database. */
	const struct sql_result *result;
	size_t n_results;
	int (*get)(void *ctx, size_t run, size_t result, const struct document **d,
		   struct err *err);
	void *ctx;
	const struct ibs_own *own;   /* users' own events of IBS; NULL: none */
	uint64_t timeout_ns;	     /* 0: none */
	uint64_t memory;	     /* bytes; 0: 1 GB */
	bool (*stop)(void *ctx);     /* asked some 1,000 times a second; NULL: never */
	void (*progress)(void *ctx); /* the same */
	void *stop_ctx;
};

struct sql;

extern const struct document_form sql_document;

int sql_open(struct sql **out, const struct sql_opts *opts, struct err *err) MUST_USE;
void sql_close(struct sql *db); /* NULL is fine */
/* Runs one statement. `d` is open with sql_document as its form; the rows are in its arena. */
int sql_query(struct sql *db, const char *text, struct document *d, struct err *err) MUST_USE;
/* Returns true if a text that is being typed ends with a statement's semicolon. */
bool sql_complete(const char *text);

/* ---- the schema ------------------------------------------------------------------------------ */

extern const struct document_form sql_tables_document;

/* All tables and columns with kind, unit, meaning; of analyses, those of `result`. `pattern`: a
 * table, TABLE.COLUMN, or a glob; NULL: all. `traces`: of recordings, or NULL. Returns the number
 * of columns that match. */
size_t sql_tables_put(struct document *d, const struct sql_result *result, size_t n,
		      const struct trace_tables *traces, const char *pattern);
/* Returns the name that SQL has for table `t` of a result; NULL: it has none. */
const char *sql_table_name(struct arena *a, const struct sql_result *r, const struct table_form *t);
/* Returns the name that SQL has for a column of a result: each table has a `run` of its own. */
const char *sql_column_name(const struct table_column *c);
/* The tables of the runs' tracepoints. */
void sql_traces(struct trace_tables *out, struct arena *a, const struct sql_opts *o);
/* Names of all tables (traces: NULL: without those); of the raw tables' columns. Ended by NULL. */
const char *const *sql_table_names(struct arena *a, const struct sql_opts *o,
				   const struct trace_tables *traces);
const char *const *sql_column_names(struct arena *a);

#endif
