/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timeline as tables (FORMAT.md). Of tracks each has its moments and spans, one after another.
 */
#include "analyse/wait.h"
#include "report/cube_view.h"
#include "report/timeline_view.h"

#define OF(type, member) TABLE_FIELD(struct type, member)

#define ROW(type) const struct type *o = r->p
TABLE_CELL(track_pid, ROW(timeline_track); out->i = cube_or_none(o->pid))
TABLE_CELL(track_tid, ROW(timeline_track); out->i = cube_or_none(o->tid))
TABLE_CELL(track_cpu, ROW(timeline_track); out->i = cube_or_none(o->cpu))
TABLE_CELL(moment_node, ROW(timeline_moment); out->i = cube_or_none(o->node))
TABLE_CELL(mark_kind, ROW(timeline_mark); out->text = timeline_kinds[o->kind])
TABLE_CELL(mark_pid, ROW(timeline_mark); out->i = cube_or_none(o->pid))
TABLE_CELL(mark_tid, ROW(timeline_mark); out->i = cube_or_none(o->tid))
TABLE_CELL(reason_state, ROW(wait_reason_row); out->text = wait_state_name(o->state))

static const struct table_column head_columns[] = {
	COLUMN("from", "from", T_COUNT, 0, "where bin 0 begins", OF(timeline, from), .unit = "ns"),
	COLUMN("width", "width", T_COUNT, 0, "of a bin of level 0", OF(timeline, width),
	       .unit = "ns"),
	COLUMN("bins", "bins", T_COUNT, 0, "of level 0", OF(timeline, n_bins)),
};
static const struct table_form head_form = { "timeline", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(head_columns) };

static const struct table_column reason_columns[] = {
	COLUMN("reason", "reason", T_TEXT, C_KEY, "its name", OF(wait_reason_row, name)),
	COLUMN("state", "state", T_TEXT, 0, "that it belongs to", .get = reason_state),
	COLUMN("means", "means", T_TEXT, 0, "what it is", OF(wait_reason_row, means)),
};
static const struct table_form reasons_form = { "reasons", NULL, 0, TABLE_COLUMNS(reason_columns) };

static const struct table_column track_columns[] = {
	COLUMN("pid", "pid", T_SIGNED, C_KEY, "process", .get = track_pid),
	COLUMN("tid", "tid", T_SIGNED, C_KEY, "thread", .get = track_tid),
	COLUMN("cpu", "CPU", T_SIGNED, C_KEY, "instead of a thread", .get = track_cpu),
	COLUMN("comm", "command", T_TEXT, 0, "the thread's name", OF(timeline_track, comm)),
	COLUMN("samples", "samples", T_COUNT, 0, "of all its moments", OF(timeline_track, samples)),
	COLUMN("level", "level", T_ID, 0, "of its moments' bins", OF(timeline_track, level)),
	COLUMN("moments", "moments", T_COUNT, 0, "how many", OF(timeline_track, n_moments)),
	COLUMN("span_level", "span level", T_ID, 0, "of its spans' bins",
	       OF(timeline_track, span_level)),
	COLUMN("spans", "spans", T_COUNT, 0, "how many", OF(timeline_track, n_spans)),
};
static const struct table_form tracks_form = { "tracks", NULL, 0, TABLE_COLUMNS(track_columns) };

static const struct table_column moment_columns[] = {
	COLUMN("bin", "bin", T_ID, C_KEY, "of time", OF(timeline_moment, bin)),
	COLUMN("node", "node", T_SIGNED, 0, "of the cube", .get = moment_node),
	COLUMN("samples", "samples", T_COUNT, 0, "of the track then", OF(timeline_moment, samples)),
};
static const struct table_form moments_form = { "moments", NULL, TABLE_MAIN,
						TABLE_COLUMNS(moment_columns) };

static const struct table_column span_columns[] = {
	COLUMN("bin", "bin", T_ID, C_KEY, "the first", OF(timeline_span, bin)),
	COLUMN("bins", "bins", T_COUNT, 0, "how many", OF(timeline_span, bins)),
	COLUMN("reason", "reason", T_ID, 0, "a row of reasons", OF(timeline_span, reason)),
};
static const struct table_form spans_form = { "spans", NULL, 0, TABLE_COLUMNS(span_columns) };

static const struct table_column mark_columns[] = {
	COLUMN("bin", "bin", T_ID, C_KEY, "of time, level 0", OF(timeline_mark, bin)),
	COLUMN("kind", "kind", T_TEXT, C_KEY, "of the record", .get = mark_kind),
	COLUMN("pid", "pid", T_SIGNED, 0, "of the first", .get = mark_pid),
	COLUMN("tid", "tid", T_SIGNED, 0, "of the first", .get = mark_tid),
	COLUMN("n", "n", T_COUNT, 0, "how many; of losses: records", OF(timeline_mark, n)),
	COLUMN("comm", "command", T_TEXT, 0, "of the first exec", OF(timeline_mark, comm)),
};
static const struct table_form marks_form = { "marks", NULL, 0, TABLE_COLUMNS(mark_columns) };

static const struct table_form *const forms[] = { &head_form,	 &reasons_form, &tracks_form,
						  &moments_form, &spans_form,	&marks_form };
const struct document_form timeline_document = { "timeline", 1,
						 forms,	     sizeof(forms) / sizeof(*forms),
						 NULL,	     0 };

void timeline_put(struct document *d, const struct timeline *t)
{
#define PUT(form_, rows, count)                                       \
	document_table(d, &(struct table){ .form = &(form_),          \
					   .array = (rows),           \
					   .stride = sizeof(*(rows)), \
					   .n = (count) })
	PUT(head_form, t, 1);
	PUT(reasons_form, wait_reasons, t->n_spans ? WAIT_REASONS : 0);
	PUT(tracks_form, t->track, t->n_tracks);
	PUT(moments_form, t->moment, t->n_moments);
	PUT(spans_form, t->span, t->n_spans);
	PUT(marks_form, t->mark, t->n_marks);
}
