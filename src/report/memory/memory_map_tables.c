/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The map of memory: regions of addresses, and pictures of the hottest ones: addresses and threads
 * by time.
 */
#include "base/num.h"
#include "report/memory/memory_int.h"

enum {
	REGIONS = 5, /* shown to people without --limit */
};

TABLE_CTX_AS(map_view_of, struct memory_view)

static const struct memory_map *map_of(const struct table *t)
{
	return &map_view_of(t)->objects->map;
}

/* ---- regions --------------------------------------------------------------------------------- */

TABLE_ROW_AS(map_region_of, struct memory_region)

static const struct memory_object *map_object_of(const struct table *t,
						 const struct memory_region *r)
{
	return &map_view_of(t)->objects->object[r->object];
}

TABLE_CELL(map_number, out->n = (uint64_t)(map_region_of(r) - map_of(t)->region) + 1)
TABLE_CELL(map_share, cell_estimate(out, memory_part(map_region_of(r)->samples,
						     map_view_of(t)->objects->all.samples)))
TABLE_CELL(map_size, out->n = map_region_of(r)->end - map_region_of(r)->start)
TABLE_CELL(map_kind, out->text = data_kind_name(map_object_of(t, map_region_of(r))->data.kind))
TABLE_CELL(map_object, memory_cell_object(t, map_object_of(t, map_region_of(r)), out))

#define OF(member) TABLE_FIELD(struct memory_region, member)
static const struct table_column region_columns[] = {
	COLUMN("region", "region", T_ID, C_KEY, "its number: most samples first",
	       .get = map_number),
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples", .get = map_share),
	COLUMN("samples", "samples", T_COUNT, 0, "in it", OF(samples)),
	COLUMN("stores", "stores", T_COUNT, C_DROP, "of these", OF(stores)),
	COLUMN("threads", "threads", T_COUNT, 0, "that accessed it", OF(threads)),
	COLUMN("pages", "pages", T_COUNT, C_DATA, "of 4 KB that have samples", OF(pages)),
	COLUMN("address", "address", T_ADDRESS, 0, "of its first page", OF(start)),
	COLUMN("size", "size", T_BYTES, 0, "up to the end of its last page", .get = map_size),
	COLUMN("pid", "pid", T_ID, C_DATA | C_0_IS_NONE, "process; null: the kernel", OF(pid)),
	COLUMN("kind", "kind", T_TEXT, C_DROP, "of the object", .get = map_kind),
	COLUMN("object", "object", T_TEXT, C_FLEX | C_CUT, "that has most of its samples",
	       .get = map_object),
};
#undef OF
const struct table_form memory_regions_form = { "regions", "regions of addresses", 0,
						TABLE_COLUMNS(region_columns), .rest = "region" };

/* ---- by address, thread and time: at[0] a row, at[1] its column of time ---------------------- */

TABLE_ROW_AS(map_row_of, struct memory_map_row)

static bool column_next(const struct table *t, struct table_row *r)
{
	const struct memory_map_row *v = t->array;

	if (r->p)
		r->at[1]++;
	for (; r->at[0] < t->n; r->at[0]++, r->at[1] = 0) {
		r->p = &v[r->at[0]];
		while (r->at[1] < MEMORY_MAP_TIMES && !v[r->at[0]].at[r->at[1]])
			r->at[1]++;
		if (r->at[1] < MEMORY_MAP_TIMES)
			return true;
	}
	return false;
}

/* Returns the first instant of a column. */
static uint64_t instant(const struct memory_map *m, uint64_t column)
{
	double span = (double)(m->last - m->first) + 1;

	return m->first + (uint64_t)((double)column * span / MEMORY_MAP_TIMES);
}

TABLE_CELL(row_region, out->n = map_row_of(r)->region + 1)
TABLE_CELL(row_tid, out->n = map_row_of(r)->tid, out->none = !out->n, out->says = "others")
TABLE_CELL(map_from, out->n = instant(map_of(t), r->at[1]))
TABLE_CELL(until, out->n = instant(map_of(t), r->at[1] + 1))
TABLE_CELL(samples_then, out->n = map_row_of(r)->at[r->at[1]])

#define OF(member) TABLE_FIELD(struct memory_map_row, member)
static const struct table_column map_columns[] = {
	COLUMN("region", "region", T_ID, C_KEY, "as in the table of regions", .get = row_region),
	COLUMN("address", "address", T_ADDRESS, C_KEY, "the first of the row", OF(address)),
	COLUMN("size", "size", T_BYTES, 0, "of the row", OF(size)),
	COLUMN("tid", "thread", T_ID, C_KEY, "null: those with fewer samples", .get = row_tid),
	COLUMN("from_ns", "from", T_COUNT, C_KEY, "time", .unit = "ns", .get = map_from),
	COLUMN("until_ns", "until", T_COUNT, 0, "time", .unit = "ns", .get = until),
	COLUMN("samples", "samples", T_COUNT, 0, "there and then", .get = samples_then),
};
const struct table_form memory_map_form = { "map", NULL, TABLE_DATA, TABLE_COLUMNS(map_columns),
					    .next = column_next };

/* ---- the same as a picture ------------------------------------------------------------------- */

/* "region 1: 0x7f..., 4 MB, heap: make_points" */
TABLE_GET(map_heading)
{
	const struct memory_map *m = map_of(t);
	const struct memory_region *g = &m->region[map_row_of(r)->region];
	const struct memory_object *o = map_object_of(t, g);
	struct table_cell name = *out;
	struct buf b = BUF_INIT;
	char size[NUM_MAX];

	name.scratch = &b;
	memory_cell_object(t, o, &name);
	cell_printf(out, "region %u, %s: %s", map_row_of(r)->region + 1,
		    num_bytes(size, g->end - g->start), name.text ? name.text : name.says);
	buf_free(&b);
}

TABLE_GET(picture)
{
	static const char ink[] = " .:-=+*#%@";
	const struct memory_map *m = map_of(t);
	const struct memory_region *g = &m->region[map_row_of(r)->region];
	char text[MEMORY_MAP_TIMES + 1];
	uint32_t most = 1;

	for (size_t i = g->first_row; i < g->first_row + g->n_rows; i++)
		for (size_t k = 0; k < MEMORY_MAP_TIMES; k++)
			most = m->row[i].at[k] > most ? m->row[i].at[k] : most;
	for (size_t k = 0; k < MEMORY_MAP_TIMES; k++) {
		uint64_t n = map_row_of(r)->at[k];

		text[k] = ink[(n * (sizeof(ink) - 2) + most - 1) / most];
	}
	text[MEMORY_MAP_TIMES] = 0;
	cell_printf(out, "|%s|", text);
}

static const struct table_column picture_columns[] = {
	COLUMN("heading", "", T_TEXT, C_GROUP, "", .get = map_heading),
	COLUMN("address", "address", T_ADDRESS, 0, "", OF(address)),
	COLUMN("tid", "thread", T_ID, 0, "", .get = row_tid),
	COLUMN("samples", "samples", T_COUNT, 0, "", OF(samples)),
	COLUMN("picture", "over time", T_TEXT, 0, "", .get = picture),
};
#undef OF
const struct table_form memory_picture_form = { "picture", "where, and when", TABLE_PEOPLE,
						TABLE_COLUMNS(picture_columns) };

void memory_put_map(struct document *d, const struct memory_view *v)
{
	const struct memory_map *m = &v->objects->map;
	size_t shown = v->limit ? v->limit : REGIONS;
	struct table rows = TABLE_OF(memory_map_form, v, m->row, m->n_rows);

	document_table(d, &TABLE_OF(memory_regions_form, v, m->region, m->n, .people = shown,
				    .data_only = !m->n));
	document_table(d, &rows);
	if (!m->n)
		return;
	shown = shown < m->n ? shown : m->n;
	rows.form = &memory_picture_form;
	for (rows.n = 0; rows.n < m->n_rows && m->row[rows.n].region < shown;)
		rows.n++;
	document_table(d, &rows);
}
