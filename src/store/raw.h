/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw - the rows of the raw tables (schema.def) of one or several recordings, walked with a cursor.
 * Knows nothing of SQL.
 *
 *	runs = raw_runs_open(run, n)
 *	c = raw_open(runs, STORE_samples)
 *	raw_begin(c, &bounds)			before the first row; as often as needed
 *	while (raw_next(c, &err) > 0)
 *		raw_cell(c, C_samples_time, &cell, &scratch, &err)
 *	raw_close(c)
 *	raw_runs_close(runs)			after all cursors
 *
 * Columns that are not asked for cost nothing: a symbol is looked up when its column is.
 * One thread.
 */
#ifndef CYCLADE_STORE_RAW_H
#define CYCLADE_STORE_RAW_H

#include "analyse/cursor.h"
#include "perfdata/trace.h"
#include "store/schema.h"

/* A recording, opened and named; the caller's, for as long as the runs. */
struct raw_run {
	const char *input;    /* as it was named */
	const struct pd *rec; /* NULL: it is no recording, and has no rows */
	struct spaces *spaces;
	unsigned machine; /* EM_*, to unwind call chains */
};

/* Events by name: those of `event` alone. Ranges of numbers that a table does not have do not bound
 * it. Rows outside of a bound may come all the same: bounds spare work, they do not select. */
struct raw_bounds {
	struct cursor_range run, place, time, cpu, pid, tid, ip, chain;
	const char *event; /* NULL: all */
	const char *trace; /* only those of this tracepoint, whatever their modifiers; NULL: all */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};
extern const struct raw_bounds raw_bounds_none;

struct raw_runs;
struct raw;

struct raw_runs *raw_runs_open(const struct raw_run *run, size_t n);
void raw_runs_close(struct raw_runs *r); /* NULL is fine */
/* Returns the number of rows in all recordings, for a planner of queries. */
uint64_t raw_rows(const struct raw_runs *r, enum store_table t);

struct raw *raw_open(struct raw_runs *r, enum store_table t);
void raw_begin(struct raw *c, const struct raw_bounds *b);
int raw_next(struct raw *c, struct err *err) MUST_USE; /* 1: there is a row; 0: no more; -1 */
/* The cell of a column; a blob (store_is_blob) is cell->n bytes at cell->text. Texts that are not
 * in `scratch` stay as long as the runs, blobs until the next row. */
int raw_cell(struct raw *c, enum store_column_id column, struct table_cell *out,
	     struct buf *scratch, struct err *err) MUST_USE;
/* The field of the sample at hand; null if it has none. */
void raw_trace_cell(struct raw *c, const struct trace_field *f, struct table_cell *out,
		    struct buf *scratch);
size_t raw_run_now(const struct raw *c); /* of the row, from 0 */
void raw_close(struct raw *c);		 /* NULL is fine */

/* The name of an address of a recording (from 1) for a process at a time; NULL: there is none. Its
 * line: raw_line(). */
struct name;
struct name *raw_name(struct raw_runs *r, uint64_t run, uint32_t pid, uint64_t time, uint64_t ip,
		      bool kernel);
int raw_line(struct raw_runs *r, uint64_t run, struct name *x, struct err *err) MUST_USE;

#endif
