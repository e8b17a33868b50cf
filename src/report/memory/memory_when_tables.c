/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells of memory operations as tables (FORMAT.md).
 */
#include "report/memory_when_view.h"

#include "report/memory/memory_int.h"

#define OF(type, member)	  TABLE_FIELD(struct type, member)
#define CELL(key_, type_, means_) COLUMN(#key_, #key_, type_, 0, means_, OF(memory_when_cell, key_))

TABLE_CELL(when_pid, const struct memory_when_thread *o = r->p;
	   out->i = o->pid == UINT32_MAX ? -1 : (int64_t)o->pid)
TABLE_CELL(when_tid, const struct memory_when_thread *o = r->p;
	   out->i = o->tid == UINT32_MAX ? -1 : (int64_t)o->tid)
TABLE_CELL(when_cpu, const struct memory_when_cell *o = r->p; out->i = o->cpu)

static const struct table_column when_columns[] = {
	COLUMN("width", "width", T_COUNT, 0, "of a bin; 0: no times", OF(memory_when, width),
	       .unit = "ns"),
};
static const struct table_form when_form = { "memory_when", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(when_columns) };

static const struct table_column when_thread_columns[] = {
	COLUMN("pid", "pid", T_SIGNED, C_KEY, "process", .get = when_pid),
	COLUMN("tid", "tid", T_SIGNED, C_KEY, "thread", .get = when_tid),
};
static const struct table_form when_threads_form = { "threads", NULL, 0,
						     TABLE_COLUMNS(when_thread_columns) };

static const struct table_column when_cell_columns[] = {
	CELL(group, T_ID, "a row of classes"),
	CELL(thread, T_ID, "a row of threads"),
	COLUMN("cpu", "CPU", T_SIGNED, C_KEY, "its number", .get = when_cpu),
	CELL(bin, T_ID, "of time"),
	CELL(samples, T_COUNT, "taken there and then"),
	CELL(timed, T_COUNT, "those with a latency"),
	CELL(cycles, T_REAL, "the sum of their latencies"),
	CELL(squares, T_REAL, "of the squares of these"),
};
static const struct table_form when_cells_form = { "cells", NULL, TABLE_MAIN,
						   TABLE_COLUMNS(when_cell_columns) };

static const struct table_form *const forms[] = { &when_form, &memory_classes_form,
						  &when_threads_form, &when_cells_form };
const struct document_form memory_when_document = { "memory_when", 1,
						    forms,	   sizeof(forms) / sizeof(*forms),
						    NULL,	   0 };

void memory_when_put(struct document *d, const struct memory_when *w)
{
#define PUT(form_, rows, count)                                       \
	document_table(d, &(struct table){ .form = &(form_),          \
					   .array = (rows),           \
					   .stride = sizeof(*(rows)), \
					   .n = (count) })
	PUT(when_form, w, 1);
	PUT(memory_classes_form, w->group, w->n_groups);
	PUT(when_threads_form, w->thread, w->n_threads);
	PUT(when_cells_form, w->cell, w->n_cells);
}
