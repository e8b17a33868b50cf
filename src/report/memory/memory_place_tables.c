/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields by address, for samples with no type of the instruction, and the types of objects that
 * they come from.
 */
#include "base/num.h"
#include "report/memory/memory_int.h"

enum { ROWS = 15 }; /* shown to people without --limit */

TABLE_CTX_AS(memory_place_view_of, struct memory_view)

static const struct memory_objects *memory_place_objects_of(const struct table *t)
{
	return memory_place_view_of(t)->objects;
}

/* ---- fields ---------------------------------------------------------------------------------- */

TABLE_ROW_AS(placed_of, struct memory_placed)

static const struct memory_object *memory_place_holder(const struct table *t,
						       const struct table_row *r)
{
	return &memory_place_objects_of(t)->object[placed_of(r)->object];
}

TABLE_CELL(memory_place_share,
	   cell_estimate(out, memory_object_share(memory_place_objects_of(t), &placed_of(r)->n)))
TABLE_CELL(memory_place_cycles_share,
	   cell_estimate(out, memory_object_cycles(memory_place_objects_of(t), &placed_of(r)->n)))
TABLE_CELL(memory_place_mean, cell_estimate(out, memory_object_mean(&placed_of(r)->n)))
TABLE_CELL(memory_place_field,
	   out->text = *placed_of(r)->access.field ? placed_of(r)->access.field : NULL;
	   out->says = "")
TABLE_CELL(holder_name, memory_cell_object(t, memory_place_holder(t, r), out))
TABLE_CELL(holder_kind, out->text = data_kind_name(memory_place_holder(t, r)->data.kind))

#define OF(member) TABLE_FIELD(struct memory_placed, member)
static const struct table_column placed_columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of the samples",
	       .get = memory_place_share),
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once", OF(n.samples)),
	COLUMN("loads", "loads", T_COUNT, C_DATA, "samples that load", OF(n.loads)),
	COLUMN("stores", "stores", T_COUNT, C_DATA, "samples that store", OF(n.stores)),
	COLUMN("cycles_share", "of cycles", T_SHARE, C_ERROR | C_SPARSE,
	       "of the cycles of all samples' latencies", .get = memory_place_cycles_share),
	COLUMN("mean", "mean", T_REAL, C_ERROR | C_SPARSE | C_DROP, "latency", .unit = "cycles",
	       .get = memory_place_mean),
	COLUMN("type", "type", T_TEXT, C_KEY | C_FLEX, "of the object, or of its elements",
	       OF(access.type)),
	COLUMN("field", "field", T_TEXT, C_KEY | C_FLEX | C_KEEP_END,
	       "of the type; null: the type has none", .get = memory_place_field),
	COLUMN("offset", "at", T_COUNT, C_KEY, "bytes from the start of the type",
	       OF(access.offset)),
	COLUMN("size", "bytes", T_COUNT, 0, "of the field", OF(access.size)),
	COLUMN("type_size", "of", T_COUNT, C_KEY | C_DATA, "bytes of the type",
	       OF(access.type_size)),
	COLUMN("kind", "kind", T_TEXT, C_KEY | C_DATA, "of the object", .get = holder_kind),
	COLUMN("object", "object", T_TEXT, C_KEY | C_FLEX | C_CUT, "as in the table of objects",
	       .get = holder_name),
};
#undef OF
const struct table_form memory_fields_by_address_form = {
	"fields_by_address", "fields by address, where the instruction has no type", 0,
	TABLE_COLUMNS(placed_columns), .rest = "field"
};

/* ---- types of objects ------------------------------------------------------------------------ */

TABLE_ROW_AS(type_of, struct memory_object_type)

static const struct memory_object *typed(const struct table *t, const struct table_row *r)
{
	return &memory_place_objects_of(t)->object[type_of(r)->object];
}

TABLE_GET(object_type)
{
	out->text = type_of(r)->type;
	if (!type_of(r)->type)
		cell_none(out, memory_type_why_text(type_of(r)->why));
}

TABLE_CELL(type_size, out->n = type_of(r)->type_size; out->none = !type_of(r)->type)
TABLE_CELL(typed_name, memory_cell_object(t, typed(t, r), out))
TABLE_CELL(typed_kind, out->text = data_kind_name(typed(t, r)->data.kind))

#define OF(member) TABLE_FIELD(struct memory_object_type, member)
static const struct table_column type_columns[] = {
	COLUMN("kind", "kind", T_TEXT, C_KEY, "of the object", .get = typed_kind),
	COLUMN("object", "object", T_TEXT, C_KEY, "as in the table of objects", .get = typed_name),
	COLUMN("type", "type", T_TEXT, C_WHY, "of its elements", .get = object_type),
	COLUMN("type_size", "bytes", T_COUNT, 0, "of the type", .get = type_size),
	COLUMN("same", "same", T_COUNT, 0, "samples with this type and field by their instruction",
	       OF(same)),
	COLUMN("part", "part", T_COUNT, 0,
	       "samples whose instruction has the type of a part that lies there, or of what "
	       "contains it",
	       OF(part)),
	COLUMN("differs", "differs", T_COUNT, 0,
	       "samples with another type or field by their instruction", OF(differs)),
	COLUMN("placed", "placed", T_COUNT, 0,
	       "samples without a type by their instruction: in fields_by_address", OF(placed)),
	COLUMN("unplaced", "unplaced", T_COUNT, 0, "of these: without a field by address, too",
	       OF(unplaced)),
	COLUMN("left_out", "left out", T_COUNT, C_LOSS,
	       "samples at more places of the object than are kept", OF(left_out)),
};
#undef OF
const struct table_form memory_object_types_form = { "object_types", NULL, TABLE_DATA,
						     TABLE_COLUMNS(type_columns) };

void memory_put_places(struct document *d, const struct memory_view *v)
{
	const struct memory_objects *o = v->objects;

	document_table(d,
		       &TABLE_OF(memory_fields_by_address_form, v, o->placed, o->n_placed,
				 .people = v->limit ? v->limit : ROWS, .data_only = !o->n_placed));
	document_table(d, &TABLE_OF(memory_object_types_form, v, o->type, o->n_types));
}

void memory_put_place_facts(struct document *d, const struct memory_view *v)
{
	uint64_t differs = 0, all = 0, left_out = 0;
	char a[NUM_MAX], b[NUM_MAX];

	for (size_t i = 0; i < v->objects->n_types; i++) {
		const struct memory_object_type *t = &v->objects->type[i];

		all += t->type ? t->same + t->part + t->differs : 0;
		differs += t->type ? t->differs : 0;
		left_out += t->left_out;
	}
	if (differs)
		document_fact(d, "types differ", false,
			      "%s of %s samples have another field by their address than by "
			      "their instruction, whose answer is shown (table object_types)",
			      num_exact(a, differs), num_exact(b, all));
	if (left_out)
		document_fact(d, "left out", true,
			      "%s samples at too many places of an object have no field by "
			      "address",
			      num_exact(a, left_out));
}
