/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html - a page (html_page.h), or a part for another page: a section with titles, a table for each
 * table, a list of facts. The part has no style and no script: classes are n (a number), hot and
 * warm (by share), group (a line above rows that share a text). Names are escaped, and characters
 * that show nothing are written as \xNN.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "show/document.h"
#include "show/html_page.h"

enum { COLUMNS_MAX = 256 };
#define HOT  0.10
#define WARM 0.02

struct writer {
	struct buf *out;
	size_t rows; /* show.rows */
	struct buf scratch, word, group;
	bool shown[COLUMNS_MAX];
	size_t n_shown;
};

void html_text(struct buf *out, const char *s)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s, false);
	for (const char *c = buf_str(&safe); *c; c++) {
		switch (*c) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, *c);
		}
	}
	out->failed |= safe.failed;
	buf_free(&safe);
}

static void put_element(struct buf *out, const char *tag, const char *text)
{
	buf_printf(out, "<%s>", tag);
	html_text(out, text);
	buf_printf(out, "</%s>\n", tag);
}

static bool is_html_text(const struct table_column *c)
{
	return c->kind == T_TEXT || c->kind == T_LIST;
}

static const char *html_class_of(const struct table_column *c, const struct table_cell *x)
{
	if (is_html_text(c))
		return "";
	if (c->flags & C_HEAT && x->e.v >= WARM)
		return x->e.v >= HOT ? " class=\"n hot\"" : " class=\"n warm\"";
	return " class=\"n\"";
}

static void put_html_cell(struct writer *w, const struct table *t, const struct table_column *c,
			  const struct table_row *r)
{
	struct table_cell x;

	table_cell(&x, t, c, r, &w->scratch);
	buf_reset(&w->word);
	cell_put(&w->word, &x);
	if (c->flags & C_ERROR) {
		buf_putc(&w->word, ' ');
		cell_put_error(&w->word, &x);
		buf_trim(&w->word);
	}
	buf_printf(w->out, "<td%s>", html_class_of(c, &x));
	for (unsigned i = 0; i < x.indent; i++)
		buf_puts(w->out, "&nbsp;&nbsp;");
	html_text(w->out, buf_str(&w->word));
	buf_puts(w->out, "</td>");
}

static void put_html_heads(struct writer *w, const struct table *t)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	buf_puts(w->out, "<tr>");
	for (size_t i = 0; i < n; i++) {
		if (!w->shown[i])
			continue;
		buf_puts(w->out, "<th title=\"");
		html_text(w->out, c[i].means);
		buf_puts(w->out, "\">");
		buf_reset(&w->word);
		table_put_head(&w->word, &c[i]);
		html_text(w->out, buf_str(&w->word));
		buf_puts(w->out, "</th>");
	}
	buf_puts(w->out, "</tr>\n");
}

static void put_html_group(struct writer *w, const struct table *t, const struct table_column *c,
			   const struct table_row *r)
{
	struct table_cell x;

	table_cell(&x, t, c, r, &w->scratch);
	buf_reset(&w->word);
	cell_put(&w->word, &x);
	if (r->i && !strcmp(buf_str(&w->word), buf_str(&w->group)))
		return;
	buf_reset(&w->group);
	buf_puts(&w->group, buf_str(&w->word));
	buf_printf(w->out, "<tr class=\"group\"><th colspan=\"%zu\">", w->n_shown);
	html_text(w->out, buf_str(&w->group));
	buf_puts(w->out, "</th></tr>\n");
}

static void put_html_row(struct writer *w, const struct table *t, const struct table_row *r)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (c[i].flags & C_GROUP)
			put_html_group(w, t, &c[i], r);
	buf_puts(w->out, "<tr>");
	for (size_t i = 0; i < n; i++)
		if (w->shown[i])
			put_html_cell(w, t, &c[i], r);
	buf_puts(w->out, "</tr>\n");
	buf_spill(w->out);
}

/* Returns the number of rows of a table that people see. */
static size_t most_rows(const struct writer *w, const struct table *t)
{
	size_t most = t->people ? t->people : SIZE_MAX;

	return w->rows && w->rows < most ? w->rows : most;
}

static void put_rest(struct writer *w, const struct table *t, size_t shown)
{
	struct table cut = *t;

	if (w->rows && shown == w->rows)
		cut.people = shown;
	buf_reset(&w->word);
	table_put_rest(&w->word, &cut, shown);
	if (w->word.len)
		put_element(w->out, "p", buf_str(&w->word));
}

static void put_html_table(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };
	size_t n, shown = 0, most = most_rows(w, t);

	(void)table_columns(t, &n);
	assert(n <= COLUMNS_MAX);
	w->n_shown = 0;
	for (size_t i = 0; i < n; i++) {
		w->shown[i] = table_has(t, i, C_DATA | C_GROUP) && !table_empty(t, i);
		w->n_shown += w->shown[i];
	}
	if (t->form->flags & TABLE_PEOPLE || w->rows) /* there may be several of its name */
		buf_puts(w->out, "<table>\n");
	else
		buf_printf(w->out, "<table id=\"%s\">\n", t->form->name);
	if (table_title(t))
		put_element(w->out, "caption", table_title(t));
	put_html_heads(w, t);
	while (shown < most && table_next(t, &r)) {
		put_html_row(w, t, &r);
		shown++;
	}
	buf_puts(w->out, "</table>\n");
	put_rest(w, t, shown);
}

static void put_html_fact(struct buf *out, const char *label, const char *text)
{
	put_element(out, "dt", label);
	put_element(out, "dd", text);
}

static void put_html_titles(struct buf *out, const struct document *d)
{
	bool list = false;

	for (size_t i = 0; i < d->title.n; i++) {
		const struct document_line *l = &d->title.v[i];

		if (list != !!l->label)
			buf_puts(out, list ? "</dl>\n" : "<dl>\n");
		list = l->label;
		if (list)
			put_html_fact(out, l->label, l->text);
		else
			put_element(out, l->ink == INK_BOLD ? "h2" : "p", l->text);
	}
	if (list)
		buf_puts(out, "</dl>\n");
}

int format_html(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct writer w = { .out = out, .rows = s->rows };
	const struct table *t;
	size_t at = 0;

	if (s->page)
		return html_page_document(out, d, s, err);
	buf_printf(out, "<section class=\"%s\">\n", d->form->name);
	if (!s->later && !s->table)
		put_html_titles(out, d);
	while ((t = document_next_table(d, s, TABLE_DATA, &at)))
		put_html_table(&w, t);
	buf_puts(out, "<dl>\n");
	for (size_t i = 0; i < d->fact.n && !s->table; i++)
		put_html_fact(out, d->fact.v[i].label, d->fact.v[i].text);
	for (size_t i = 0; i < d->note.n && !s->table; i++)
		put_html_fact(out, "note", d->note.v[i]);
	buf_puts(out, "</dl>\n</section>\n");
	out->failed |= w.scratch.failed | w.word.failed | w.group.failed;
	buf_free(&w.scratch);
	buf_free(&w.word);
	buf_free(&w.group);
	return 0;
}
