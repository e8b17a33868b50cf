/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot and cold fields of structures as a table, for people, if a split or another order would save
 * a quarter of the cache lines.
 */
#include "report/memory/memory_int.h"

#define ROWS 5

TABLE_ROW_AS(layout_of, struct memory_layout)

TABLE_CELL(layout_share,
	   cell_estimate(out, memory_part(layout_of(r)->hot_samples, layout_of(r)->type->samples)))

/* "key, next" */
TABLE_GET(hot_fields)
{
	const struct memory_layout *l = layout_of(r);

	for (size_t i = 0; i < l->n_hot; i++)
		buf_printf(out->scratch, "%s%s", i ? ", " : "", l->hot[i]->access.field);
	out->text = buf_str(out->scratch);
}

/* "key, uses" */
TABLE_GET(ordered_fields)
{
	const struct memory_layout *l = layout_of(r);

	for (size_t i = 0; i < l->n_hot; i++)
		buf_printf(out->scratch, "%s%s", i ? ", " : "", l->hot[l->order[i]]->access.field);
	out->text = buf_str(out->scratch);
}

#define OF(...) TABLE_FIELD(struct memory_layout, __VA_ARGS__)
static const struct table_column layout_columns[] = {
	COLUMN("samples", "samples", T_COUNT, 0, "of the type", OF(type, samples)),
	COLUMN("hot_share", "hot", T_SHARE, C_ERROR, "of these: to hot fields",
	       .get = layout_share),
	COLUMN("type_size", "bytes", T_BYTES, 0, "of the type", OF(type, access.type_size)),
	COLUMN("hot_bytes", "of hot", T_BYTES, 0, "of hot fields", OF(hot_bytes)),
	COLUMN("lines", "lines", T_REAL, 0,
	       "cache lines with hot fields by object, where objects lie one behind the other",
	       OF(lines)),
	COLUMN("lines_split", "split", T_REAL, 0,
	       "the same, if the hot fields were a structure of their own", OF(lines_split)),
	COLUMN("lines_order", "ordered", T_REAL, 0,
	       "the same, if the hot fields were the first ones of the structure", OF(lines_order)),
	COLUMN("used", "used", T_SHARE, 0, "of the bytes of these lines: those of hot fields",
	       OF(used)),
	COLUMN("type", "type", T_TEXT, C_KEY | C_FLEX, "the structure", OF(type, access.type)),
	COLUMN("hot", "hot fields", T_TEXT, C_FLEX | C_CUT,
	       "the fewest that have 95 % of its samples, most first", .get = hot_fields),
	COLUMN("order", "order", T_TEXT, C_DATA, "the hot fields in an order without gaps",
	       .get = ordered_fields),
};
#undef OF

const struct table_form memory_layouts_form = { "layouts", NULL, 0, TABLE_COLUMNS(layout_columns),
						.rest = "type" };

void memory_put_layouts(struct document *d, const struct memory_view *v)
{
	const struct memory *m = v->m;
	struct table t =
		TABLE_OF(memory_layouts_form, v, m->layout, m->n_layouts, .data_only = true);

	for (size_t i = 0; i < m->n_layouts; i++)
		t.data_only &= m->layout[i].lines_split > 0.75 * m->layout[i].lines &&
			       m->layout[i].lines_order > 0.75 * m->layout[i].lines;
	t.people = ROWS;
	document_table(d, &t);
}
