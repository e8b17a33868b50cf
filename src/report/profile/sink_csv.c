/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csv - RFC 4180 with a header row always. Shares and errors are fractions, numbers carry no
 * separators and no units; what has no value is empty. Control characters and bytes that are not
 * UTF-8 are written as in the terminal's tables (\\xNN), so that a row is always a line and the
 * text may be shown; then the rules of quoting apply.
 */
#include <math.h>

#include "base/text.h"
#include "report/sink.h"

static void put_cell(struct buf *b, const struct cell *c, char sep)
{
	switch (c->kind) {
	case CELL_NONE:
		break;
	case CELL_TEXT:
		text_put_csv_safe(b, c->text, sep);
		break;
	case CELL_NUMBER:
	case CELL_COUNT:
		buf_printf(b, "%llu", (unsigned long long)c->number);
		break;
	case CELL_HEX:
		buf_printf(b, "0x%llx", (unsigned long long)c->number);
		break;
	case CELL_SHARE:
	case CELL_ERROR:
		if (isfinite(c->real))
			buf_printf(b, "%.6f", c->real);
		break;
	}
}

/* The column that a fold's name stands in: the last one. */
static void put_row(struct buf *b, const struct view *v, const struct view_table *t,
		    const struct view_row *r, size_t event, char sep)
{
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < v->columns.n; i++) {
		enum column_id id = v->columns.id[i];
		struct cell c = column_get(id, v, t, r, event);

		if (i)
			buf_putc(b, sep);
		if (r->folded && i + 1 == v->columns.n && c.kind == CELL_NONE) {
			sink_fold_name(&name, r);
			c = (struct cell){ .kind = CELL_TEXT, .text = buf_str(&name) };
		}
		put_cell(b, &c, sep);
	}
	buf_puts(b, "\r\n");
	buf_spill(b);
	b->failed |= name.failed;
	buf_free(&name);
}

int sink_csv(struct buf *out, const struct view *v, const struct sink_opts *o, struct err *err)
{
	char sep = o->separator ? o->separator : ',';

	for (size_t i = 0; i < v->columns.n; i++) {
		if (i)
			buf_putc(out, sep);
		buf_puts(out, column_table[v->columns.id[i]].name);
	}
	buf_puts(out, "\r\n");
	for (size_t k = 0; k < v->n_tables; k++)
		for (size_t i = 0; i < v->table[k].n_rows && !out->failed; i++)
			put_row(out, v, &v->table[k], &v->table[k].row[i], 0, sep);
	return buf_error(out, err);
}
