/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * markdown - tables for a pull request's comment. Names are escaped so that none of their
 * characters means anything: pipes, backticks, angle brackets, underscores, control characters.
 */
#include <string.h>

#include "base/text.h"
#include "report/facts.h"
#include "report/sink.h"

/* Leading blanks do not survive in a cell: no-break spaces show how deep a call lies. */
static void put_indent(struct buf *b, const struct view_row *r)
{
	unsigned n = r->indent < 24 ? r->indent : 24;

	while (n--)
		buf_puts(b, "&nbsp;&nbsp;");
}

static void put_cell(struct buf *b, enum column_id id, const struct cell *c,
		     const struct view_row *r, bool last)
{
	struct buf fold = BUF_INIT;

	if (id == COL_FRAME)
		put_indent(b, r);
	if (r->folded && last && c->kind == CELL_NONE) {
		sink_fold_name(&fold, r);
		text_put_markdown(b, buf_str(&fold));
	} else if (c->kind == CELL_TEXT) {
		text_put_markdown(b, c->text);
	} else if (c->kind != CELL_NONE) {
		sink_put_cell(b, c, false);
	}
	if (id == COL_FRAME && r->levels > 1)
		buf_printf(b, " (%u levels deep)", (unsigned)r->levels);
	b->failed |= fold.failed;
	buf_free(&fold);
}

static void put_table(struct buf *b, const struct view *v, const struct view_table *t)
{
	const struct column_list *l = &v->columns;

	for (size_t i = 0; i < l->n; i++)
		buf_printf(b, "| %s ", column_table[l->id[i]].header);
	buf_puts(b, "|\n");
	for (size_t i = 0; i < l->n; i++)
		buf_puts(b, column_table[l->id[i]].align == TEXT_RIGHT ? "|---:" : "|---");
	buf_puts(b, "|\n");
	for (size_t k = 0; k < t->n_rows; k++) {
		for (size_t i = 0; i < l->n; i++) {
			struct cell c = column_get(l->id[i], v, t, &t->row[k], 0);

			buf_puts(b, "| ");
			put_cell(b, l->id[i], &c, &t->row[k], i + 1 == l->n);
			buf_putc(b, ' ');
		}
		buf_puts(b, "|\n");
	}
}

static void put_facts(struct buf *b, const struct fact *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "- %s: %s\n", f[i].label, f[i].text);
}

int sink_markdown(struct buf *out, const struct view *v, const struct sink_opts *o, struct err *err)
{
	struct fact facts[FACTS_MAX];
	struct buf line = BUF_INIT;

	(void)o;
	fact_command(&line, v, false);
	buf_puts(out, "**");
	text_put_markdown(out, buf_str(&line));
	buf_puts(out, "**\n");
	for (size_t i = 0; i < v->n_tables; i++) {
		buf_reset(&line);
		fact_title(&line, v, &v->table[i], 0);
		buf_putc(out, '\n');
		text_put_markdown(out, buf_str(&line));
		buf_puts(out, "\n\n");
		put_table(out, v, &v->table[i]);
		buf_putc(out, '\n');
		put_facts(out, facts, facts_of_event(v, &v->table[i], 0, facts));
	}
	put_facts(out, facts, facts_of_recording(v, facts));
	for (size_t i = 0; i < v->source.n_notes; i++) {
		buf_puts(out, "- note: ");
		text_put_markdown(out, v->source.notes[i]);
		buf_putc(out, '\n');
	}
	buf_free(&line);
	return buf_error(out, err);
}
