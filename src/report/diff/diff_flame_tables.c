/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A differential flame graph as tables (report/page/FORMAT.md). Numbers of rows stand for names.
 */
#include <math.h>

#include "report/diff/diff_columns.h"
#include "report/diff/diff_flame_int.h"

TABLE_ROW_AS(flame_of, struct diff_flame)

/* The differences of the rows that changed, added up, with their error. */
static struct estimate flame_changed(const struct diff_flame *f)
{
	struct estimate e = { 0, 0, NULL };

	for (size_t i = 0; i < f->item.n; i++) {
		const struct diff_item *it = f->item.v[i];

		if (!diff_reported(it))
			continue;
		e.v += it->difference;
		e.half = hypot(e.half, hypot(it->base.half, it->new.half));
	}
	return e;
}

static struct estimate flame_difference(const struct diff_item *it)
{
	return (struct estimate){ it->difference, hypot(it->base.half, it->new.half), NULL };
}

static size_t count_flame_changed(const struct diff_flame *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->item.n; i++)
		n += diff_reported(f->item.v[i]);
	return n;
}

TABLE_CELL(head_event, out->text = flame_of(r)->event)
TABLE_CELL(head_unit, out->text = flame_of(r)->total->unit)
TABLE_CELL(head_base_name, out->text = flame_of(r)->x->side[0].name)
TABLE_CELL(head_new_name, out->text = flame_of(r)->x->side[flame_of(r)->side].name)
TABLE_CELL(head_base_runs, out->n = flame_of(r)->n_base)
TABLE_CELL(head_new_runs, out->n = flame_of(r)->n_runs - flame_of(r)->n_base)
TABLE_CELL(head_base, cell_estimate(out, flame_of(r)->total->base))
TABLE_CELL(head_new, cell_estimate(out, flame_of(r)->total->new))
TABLE_CELL(head_difference, cell_estimate(out, flame_difference(flame_of(r)->total)))
TABLE_CELL(head_verdict, out->text = diff_verdicts[flame_of(r)->total->verdict])
TABLE_CELL(head_compared, out->n = flame_of(r)->item.n)
TABLE_CELL(head_changed, out->n = count_flame_changed(flame_of(r)))
TABLE_CELL(head_coloured, cell_estimate(out, flame_changed(flame_of(r))))
TABLE_CELL(head_level, out->e.v = DIFF_LEVEL_PER_MILLE / 1000.0)

/* Errors stand beside their values as members of their own. */
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, C_KEY, "whose samples these are", .get = head_event),
	COLUMN("unit", "unit", T_TEXT, 0, "of values: s, cycles, ...", .get = head_unit),
	COLUMN("base_name", "base", T_TEXT, 0, "the base", .get = head_base_name),
	COLUMN("new_name", "new", T_TEXT, 0, "the new side", .get = head_new_name),
	COLUMN("base_runs", "runs", T_COUNT, 0, "recordings of the base", .get = head_base_runs),
	COLUMN("new_runs", "runs", T_COUNT, 0, "recordings of the new side", .get = head_new_runs),
	COLUMN("level", "level", T_REAL, 0, "of diffs without a change, those that report one",
	       .get = head_level),
	COLUMN("compared", "functions", T_COUNT, 0, "functions that were compared",
	       .get = head_compared),
	COLUMN("changed", "changed", T_COUNT, 0, "those that changed by more than chance",
	       .get = head_changed),
	COLUMN("folded", "folded", T_REAL, 0, "base and new of nodes without a frame",
	       TABLE_FIELD(struct diff_flame, folded)),
};
static const struct table_form head_form = { "flame", NULL, TABLE_ONE | TABLE_HEAD,
					     TABLE_COLUMNS(head_columns) };

static const struct table_column sum_columns[] = {
	COLUMN("base", "base", T_REAL, C_ERROR, "of the event", .get = head_base),
	COLUMN("new", "new", T_REAL, C_ERROR, "of the event", .get = head_new),
	COLUMN("difference", "difference", T_REAL, C_ERROR, "new less base",
	       .get = head_difference),
	COLUMN("verdict", "verdict", T_TEXT, C_DATA, "of the diff", .get = head_verdict),
	COLUMN("coloured", "coloured", T_REAL, C_ERROR, "differences of functions that changed",
	       .get = head_coloured),
};
static const struct table_form sum_form = { "total", NULL, 0, TABLE_COLUMNS(sum_columns) };

#define ITEM (*(const struct diff_item *const *)r->p)
TABLE_GET(item_name)
{
	struct arena a = ARENA_INIT;
	const char *name = diff_function_name(&a, ITEM);

	if (name)
		cell_printf(out, "%s", name);
	arena_free(&a);
}
TABLE_CELL(item_dso, out->text = ITEM->key[1])
TABLE_CELL(item_verdict, out->text = diff_verdicts[ITEM->verdict])
TABLE_CELL(item_base, cell_estimate(out, ITEM->base))
TABLE_CELL(item_new, cell_estimate(out, ITEM->new))
TABLE_CELL(item_difference, cell_estimate(out, flame_difference(ITEM)))
TABLE_CELL(item_change, cell_estimate(out, ITEM->change))
TABLE_CELL(item_reported, out->n = diff_reported(ITEM))
TABLE_CELL(item_why, out->text = ITEM->why)

static const struct table_column item_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY, "its name, or both", .get = item_name),
	COLUMN("dso", "module", T_TEXT, C_KEY, "its file", .get = item_dso),
	COLUMN("verdict", "verdict", T_TEXT, C_DATA, "of the diff", .get = item_verdict),
	COLUMN("reported", "changed", T_FLAG, 0, "by more than chance", .get = item_reported),
	COLUMN("base", "base", T_REAL, C_ERROR, "of the base, a recording's mean",
	       .get = item_base),
	COLUMN("new", "new", T_REAL, C_ERROR, "of the new side", .get = item_new),
	COLUMN("difference", "difference", T_REAL, C_ERROR, "new less base",
	       .get = item_difference),
	COLUMN("change", "change", T_SHARE, C_ERROR, "difference, as a part of base",
	       .get = item_change),
	COLUMN("why", "why", T_TEXT, 0, "there is no verdict, or it differs from the bar",
	       .get = item_why),
};
static const struct table_form items_form = { "items", NULL, 0, TABLE_COLUMNS(item_columns) };

#define OF(member) TABLE_FIELD(struct flame_frame, member)
static const struct table_column frame_columns[] = {
	COLUMN("function", "function", T_TEXT, C_KEY, "its name", OF(function)),
	COLUMN("dso", "module", T_TEXT, C_KEY, "its file", OF(dso)),
	COLUMN("item", "item", T_SIGNED, 0, "its row of items", OF(item)),
};
#undef OF
static const struct table_form frames_form = { "frames", NULL, 0, TABLE_COLUMNS(frame_columns) };

#define OF(member) TABLE_FIELD(struct flame_node, member)
static const struct table_column node_columns[] = {
	COLUMN("parent", "parent", T_SIGNED, 0, "the node that called it", OF(parent)),
	COLUMN("frame", "frame", T_SIGNED, 0, "its function", OF(frame)),
	COLUMN("base", "base", T_REAL, 0, "itself, a recording's mean", OF(base)),
	COLUMN("new", "new", T_REAL, 0, "itself, of the new side", OF(new)),
	COLUMN("error", "error", T_REAL, 0, "half of 95 % of their difference", OF(error)),
};
#undef OF
static const struct table_form nodes_form = { "nodes", NULL, TABLE_MAIN,
					      TABLE_COLUMNS(node_columns) };

static const struct table_form *const forms[] = { &head_form, &sum_form, &items_form, &frames_form,
						  &nodes_form };
const struct document_form diff_flame_document = {
	.name = "flame", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

void diff_flame_put(struct document *d, const struct diff_flame *f)
{
	document_table(d, &TABLE_OF(head_form, NULL, f, 1));
	document_table(d, &TABLE_OF(sum_form, NULL, f, 1));
	document_table(d, &TABLE_OF(items_form, NULL, f->item.v, f->item.n));
	document_table(d, &TABLE_OF(frames_form, NULL, f->frame.v, f->frame.n));
	document_table(d, &TABLE_OF(nodes_form, NULL, f->node.v, f->node.n));
}
