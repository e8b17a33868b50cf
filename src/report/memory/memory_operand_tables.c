/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that were computed from registers, and why others were not.
 */
#include "report/memory/memory_int.h"

TABLE_ROW_AS(operand_row_of, struct memory_computed)

static uint64_t operand_all_of(const struct memory *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_computed; i++)
		n += m->computed[i].samples;
	return n;
}

TABLE_CELL(operand_share,
	   cell_estimate(out, memory_part(operand_row_of(r)->samples,
					  operand_all_of(((const struct memory_view *)t->ctx)->m))))

static const struct table_column columns[] = {
	COLUMN("share", "share", T_SHARE, C_ERROR | C_HEAT, "of these samples",
	       .get = operand_share),
	COLUMN("samples", "samples", T_COUNT, 0, "each counts once",
	       TABLE_FIELD(struct memory_computed, samples)),
	COLUMN("result", "result", T_TEXT, C_KEY, "\"computed\", or why not",
	       TABLE_FIELD(struct memory_computed, why), .name_of = memory_operand_text),
};
const struct table_form memory_computed_form = {
	"computed_addresses", "samples without an address: computed from registers", 0,
	TABLE_COLUMNS(columns)
};

void memory_put_computed(struct document *d, const struct memory_view *v)
{
	const struct table t = TABLE_OF(memory_computed_form, v, v->m->computed, v->m->n_computed,
					.data_only = !v->m->n_computed);

	document_table(d, &t);
}
