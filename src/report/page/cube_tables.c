/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cube as tables (FORMAT.md). Numbers of rows stand for names; -1 for none.
 */
#include "report/cube_view.h"

#define OF(type, member) TABLE_FIELD(struct type, member)

#define ROW(type) const struct type *o = r->p
TABLE_CELL(frame_inlined, ROW(cube_frame); out->n = o->inlined)
TABLE_CELL(node_parent, ROW(cube_node); out->i = cube_or_none(o->parent))
TABLE_CELL(node_frame, ROW(cube_node); out->i = cube_or_none(o->frame))
TABLE_CELL(cell_cpu, ROW(cube_cell); out->i = cube_or_none(o->cpu))
TABLE_CELL(thread_pid, ROW(stack_thread); out->i = cube_or_none(o->pid))
TABLE_CELL(thread_tid, ROW(stack_thread); out->i = cube_or_none(o->tid))
struct cube_of {
	const char *event, *unit;
};
TABLE_CELL(cpu_number, const uint32_t *n = r->p; out->n = *n)

#define CTX(...) TABLE_CTX(struct cube_of, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "whose samples are counted", CTX(event)),
	COLUMN("unit", "unit", T_TEXT, 0, "of periods: cycles, ns, reference cycles or events",
	       CTX(unit)),
	COLUMN("from", "from", T_COUNT, 0, "where bin 0 begins", OF(cube, from), .unit = "ns"),
	COLUMN("width", "width", T_COUNT, 0, "of a bin; 0: no times", OF(cube, width),
	       .unit = "ns"),
	COLUMN("bins", "bins", T_COUNT, 0, "how many there are", OF(cube, n_bins)),
	COLUMN("samples", "samples", T_COUNT, 0, "in all cells", OF(cube, samples)),
	COLUMN("period", "period", T_COUNT, 0, "of these samples", OF(cube, period)),
	COLUMN("folded", "folded", T_COUNT, 0, "samples in functions without a node of their own",
	       OF(cube, folded)),
};
static const struct table_form head_form = { "cube", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(head_columns) };

static const struct table_column frame_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name",
	       OF(cube_frame, function)),
	COLUMN("dso", "module", T_TEXT, C_KEY, "its file", OF(cube_frame, dso)),
	COLUMN("inlined", "inlined", T_FLAG, C_KEY, "into the function above",
	       .get = frame_inlined),
};
static const struct table_form frames_form = { "frames", NULL, 0, TABLE_COLUMNS(frame_columns) };

static const struct table_column wall_frame_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX,
	       "its name, or the thread's, or the reason", OF(cube_frame, function)),
	COLUMN("dso", "module", T_TEXT, C_KEY, "its file", OF(cube_frame, dso)),
	COLUMN("kind", "kind", T_TEXT, C_KEY, "thread, or the state that a reason belongs to",
	       OF(cube_frame, kind)),
};
static const struct table_form wall_frames_form = { "frames", NULL, 0,
						    TABLE_COLUMNS(wall_frame_columns) };

static const struct table_column thread_columns[] = {
	COLUMN("pid", "pid", T_SIGNED, C_KEY, "process", .get = thread_pid),
	COLUMN("tid", "tid", T_SIGNED, C_KEY, "thread", .get = thread_tid),
	COLUMN("comm", "command", T_TEXT, C_KEY, "its name", OF(stack_thread, comm)),
};
static const struct table_form threads_form = { "threads", NULL, 0, TABLE_COLUMNS(thread_columns) };

static const struct table_column cpu_columns[] = {
	COLUMN("cpu", "CPU", T_ID, C_KEY, "its number", .get = cpu_number),
};
static const struct table_form cpus_form = { "cpus", NULL, 0, TABLE_COLUMNS(cpu_columns) };

static const struct table_column node_columns[] = {
	COLUMN("parent", "parent", T_SIGNED, 0, "the node that called it", .get = node_parent),
	COLUMN("frame", "frame", T_SIGNED, 0, "its function", .get = node_frame),
};
static const struct table_form nodes_form = { "nodes", NULL, 0, TABLE_COLUMNS(node_columns) };

static const struct table_column cell_columns[] = {
	COLUMN("node", "node", T_ID, C_KEY, "of a call chain", OF(cube_cell, node)),
	COLUMN("thread", "thread", T_ID, C_KEY, "a row of threads", OF(cube_cell, thread)),
	COLUMN("cpu", "CPU", T_SIGNED, C_KEY, "a row of cpus", .get = cell_cpu),
	COLUMN("bin", "bin", T_ID, C_KEY, "of time", OF(cube_cell, bin)),
	COLUMN("samples", "samples", T_COUNT, 0, "taken there and then", OF(cube_cell, samples)),
	COLUMN("period", "period", T_COUNT, 0, "of these samples", OF(cube_cell, period)),
};
static const struct table_form cells_form = { "cells", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(cell_columns) };

static const struct table_form *const forms[] = { &head_form, &frames_form, &threads_form,
						  &cpus_form, &nodes_form,  &cells_form };
const struct document_form cube_document = { "cube", 1, forms, sizeof(forms) / sizeof(*forms),
					     NULL,   0 };

static const struct table_form *const wall_forms[] = { &head_form, &wall_frames_form, &threads_form,
						       &cpus_form, &nodes_form,	      &cells_form };
const struct document_form wall_cube_document = {
	"wall_cube", 1, wall_forms, sizeof(wall_forms) / sizeof(*wall_forms), NULL, 0
};

void cube_put(struct document *d, const struct cube *c, const char *event, const char *unit)
{
	struct cube_of *of =
		arena_memdup(&d->a, &(struct cube_of){ event, unit }, sizeof(struct cube_of));
	const bool wall = d->form == &wall_cube_document;

	if (!of) {
		d->failed = true;
		return;
	}
#define PUT(form_, rows, count)                                       \
	document_table(d, &(struct table){ .form = &(form_),          \
					   .ctx = of,                 \
					   .array = (rows),           \
					   .stride = sizeof(*(rows)), \
					   .n = (count) })
	PUT(head_form, c, 1);
	if (wall)
		PUT(wall_frames_form, c->frame, c->n_frames);
	else
		PUT(frames_form, c->frame, c->n_frames);
	PUT(threads_form, c->thread, c->n_threads);
	PUT(cpus_form, c->cpu, c->n_cpus);
	PUT(nodes_form, c->node, c->n_nodes);
	PUT(cells_form, c->cell, c->n_cells);
}
