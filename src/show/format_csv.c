/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csv - one table: RFC 4180 but for lines that end in \n alone; a header row always. A cell without
 * a value is empty; shares are fractions; numbers have no separators and no units. Control
 * characters and bytes that are not UTF-8 are written as \xNN, so that a row is a line and may be
 * shown.
 */
#include <inttypes.h>

#include "base/text.h"
#include "show/document.h"

struct csv {
	struct buf *out;
	struct buf text; /* scratch: of cells, of lists */
	struct buf scratch;
	char separator;
	bool begun; /* a field stands in this line */
};

static void begin_csv_field(struct csv *c)
{
	if (c->begun)
		buf_putc(c->out, c->separator);
	c->begun = true;
}

static void end_csv_line(struct csv *c)
{
	buf_putc(c->out, '\n');
	buf_spill(c->out);
	c->begun = false;
}

static void put_csv_text(struct csv *c, const char *s)
{
	begin_csv_field(c);
	text_put_csv_safe(c->out, s, c->separator);
}

/* Several texts in one field: with blanks and a semicolon between them. */
static void put_csv_list(struct csv *c, const struct table_cell *x)
{
	buf_reset(&c->text);
	for (size_t i = 0; i < x->n_list; i++)
		buf_printf(&c->text, "%s%s", i ? "; " : "", x->list[i]);
	text_put_csv_safe(c->out, buf_str(&c->text), c->separator);
}

static void put_csv_value(struct csv *c, const struct table_cell *x)
{
	begin_csv_field(c);
	if (!cell_has(x))
		return;
	switch (x->kind) {
	case T_TEXT:
		buf_reset(&c->text);
		buf_puts(&c->text, x->text);
		buf_puts(&c->text, x->tail ? x->tail : "");
		text_put_csv_safe(c->out, buf_str(&c->text), c->separator);
		break;
	case T_LIST:
		put_csv_list(c, x);
		break;
	case T_ID:
	case T_COUNT:
	case T_BYTES:
	case T_FLAG:
		buf_put_decimal(c->out, x->n);
		break;
	case T_SIGNED:
		buf_printf(c->out, "%" PRId64, x->i);
		break;
	case T_ADDRESS:
		buf_puts(c->out, "0x");
		buf_put_hex(c->out, x->n);
		break;
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		text_put_csv_real(c->out, x->e.v);
		break;
	}
}

static void put_csv_row(struct csv *c, const struct table *t, const struct table_row *r)
{
	size_t n;
	const struct table_column *col = table_columns(t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n; i++) {
		if (!table_has(t, i, C_PEOPLE))
			continue;
		table_cell(&x, t, &col[i], r, &c->scratch);
		put_csv_value(c, &x);
		if (col[i].flags & C_ERROR) {
			begin_csv_field(c);
			text_put_csv_real(c->out, cell_has(&x) ? x.e.half : NAN);
		}
		if (col[i].flags & C_WHY)
			put_csv_text(c, x.e.why);
	}
	end_csv_line(c);
}

static void put_csv_head(struct csv *c, const struct table *t)
{
	size_t n;
	const struct table_column *col = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		if (!table_has(t, i, C_PEOPLE))
			continue;
		put_csv_text(c, col[i].key);
		if (col[i].flags & C_ERROR) {
			begin_csv_field(c);
			buf_printf(c->out, "%s_error", col[i].key);
		}
		if (col[i].flags & C_WHY) {
			begin_csv_field(c);
			buf_printf(c->out, "%s_why", col[i].key);
		}
	}
	end_csv_line(c);
}

int format_csv(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct csv c = { .out = out, .separator = s->separator ? s->separator : ',' };
	struct table_row r = { 0 };
	size_t at = 0;
	const struct table *t = document_next_table(d, s, TABLE_PEOPLE, &at);

	(void)err;
	if (t && !s->later)
		put_csv_head(&c, t);
	while (t && !out->failed && table_next(t, &r))
		put_csv_row(&c, t, &r);
	out->failed |= c.text.failed | c.scratch.failed;
	buf_free(&c.text);
	buf_free(&c.scratch);
	return 0;
}
