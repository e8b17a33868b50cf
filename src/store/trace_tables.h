/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_tables - a table for each tracepoint of recordings, with the fields of its format as
 * columns. They depend on the recordings, unlike those of schema.def.
 *
 * A table has the event's name (sched_switch); if another table has it, the system's name in front
 * (sched_sched_switch). Its first columns are those of the sample, under names that no field has:
 * run, sample, time, common_cpu, common_comm, common_tgid. Fields keep their names.
 */
#ifndef CYCLADE_STORE_TRACE_TABLES_H
#define CYCLADE_STORE_TRACE_TABLES_H

#include "perfdata/trace.h"
#include "store/raw.h"

struct trace_table {
	const char *event; /* "sched:sched_switch" */
	struct table_form
		form; /* .name: of the table; columns: .which as trace_column_raw() has it */
	const struct trace_field *
		*field; /* [run * form.n_columns + column]; NULL: not of the run */
};

struct trace_tables {
	const struct trace_table *v;
	size_t n;
};

/* Everything is in the arena. `taken`: names of the other tables, ended by NULL. */
void trace_tables_make(struct trace_tables *out, struct arena *a, const struct raw_run *run,
		       size_t n_runs, const char *const *taken);
/* Returns the column of `samples` that a column is; STORE_COLUMNS: it is a field. */
enum store_column_id trace_column_raw(const struct table_column *c);

#endif
