/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * markdown - for a comment on a pull request: titles as paragraphs, tables, facts as a list. Names
 * are escaped so that none of their characters means anything.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "show/document.h"
#include "show/fold.h"

enum { INDENT_MAX = 24, COLUMNS_MAX = 256 };

struct writer {
	struct buf *out;
	bool wide;
	struct folds folds; /* of the table's names */
	bool shown[COLUMNS_MAX];
	struct buf scratch, word, group, safe;
};

static const char *md_tail_of(const struct table_cell *x)
{
	return cell_has(x) && x->tail ? x->tail : "";
}

/* The name without its tail, which is not cut off. */
static const char *safe_md_name(struct writer *w, const struct table_cell *x)
{
	buf_reset(&w->word);
	if (*md_tail_of(x))
		buf_puts(&w->word, x->text);
	else
		cell_put(&w->word, x);
	buf_reset(&w->safe);
	text_put_safe(&w->safe, buf_str(&w->word), false);
	return buf_str(&w->safe);
}

static void put_md_text(struct writer *w, const struct table_column *c, const struct table_cell *x)
{
	const char *name = NULL;

	if (!w->wide && table_names_things(c)) {
		const char *whole = safe_md_name(w, x);

		name = folds_get(&w->folds, whole, strlen(md_tail_of(x)));
		name = strcmp(name, whole) != 0 ? name : NULL;
	}
	buf_reset(&w->word);
	if (name) {
		buf_puts(&w->word, name);
		buf_puts(&w->word, md_tail_of(x));
	} else {
		cell_put(&w->word, x);
	}
	text_put_markdown(w->out, buf_str(&w->word));
}

static void see_md_names(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	size_t n, rows = 0;
	const struct table_column *c = table_columns(t, &n);

	for (; !w->wide && (!t->people || rows < t->people) && table_next(t, &r); rows++)
		for (size_t i = 0; i < n; i++) {
			if (!w->shown[i] || !table_names_things(&c[i]))
				continue;
			table_cell(&x, t, &c[i], &r, &w->scratch);
			folds_add(&w->folds, safe_md_name(w, &x), strlen(md_tail_of(&x)));
		}
	folds_settle_page(&w->folds);
}

static void put_md_cell(struct writer *w, const struct table *t, size_t i,
			const struct table_row *r)
{
	size_t n;
	const struct table_column *c = &table_columns(t, &n)[i];
	struct table_cell x;

	table_cell(&x, t, c, r, &w->scratch);
	/* leading blanks do not survive in a cell */
	for (unsigned k = 0; k < x.indent && k < INDENT_MAX; k++)
		buf_puts(w->out, "&nbsp;&nbsp;");
	if (x.kind == T_TEXT || x.kind == T_LIST)
		put_md_text(w, c, &x);
	else
		cell_put(w->out, &x);
	if (!(c->flags & C_ERROR))
		return;
	buf_reset(&w->word);
	cell_put_error(&w->word, &x);
	if (w->word.len)
		buf_printf(w->out, " %s", buf_str(&w->word));
}

static void put_md_head(struct writer *w, const struct table_column *c)
{
	buf_reset(&w->word);
	table_put_head(&w->word, c);
	buf_puts(w->out, "| ");
	text_put_markdown(w->out, buf_str(&w->word));
	buf_putc(w->out, ' ');
}

static void put_md_heads(struct writer *w, const struct table *t)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (w->shown[i])
			put_md_head(w, &c[i]);
	buf_puts(w->out, "|\n");
	for (size_t i = 0; i < n; i++)
		if (w->shown[i])
			buf_puts(w->out,
				 c[i].kind == T_TEXT || c[i].kind == T_LIST ? "|---" : "|---:");
	buf_puts(w->out, "|\n");
}

/* A heading above rows that share a text, and a table for each run of them. Returns true if it
 * began one. */
static bool put_md_group(struct writer *w, const struct table *t, const struct table_row *r)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n; i++) {
		if (!(c[i].flags & C_GROUP))
			continue;
		table_cell(&x, t, &c[i], r, &w->scratch);
		buf_reset(&w->word);
		cell_put(&w->word, &x);
		if (r->i && !strcmp(buf_str(&w->word), buf_str(&w->group)))
			return false;
		buf_reset(&w->group);
		buf_puts(&w->group, buf_str(&w->word));
		buf_puts(w->out, r->i ? "\n### " : "### ");
		text_put_markdown(w->out, buf_str(&w->group));
		buf_puts(w->out, "\n\n");
		return true;
	}
	return !r->i;
}

static void put_md_table(struct writer *w, const struct table *t)
{
	struct table_row r = { 0 };
	size_t n, shown = 0;

	(void)table_columns(t, &n);
	assert(n <= COLUMNS_MAX);
	for (size_t i = 0; i < n; i++)
		w->shown[i] = table_has(t, i, C_DATA | C_GROUP) && !table_empty(t, i);
	see_md_names(w, t);
	while ((!t->people || shown < t->people) && table_next(t, &r)) {
		if (!shown && table_title(t))
			buf_printf(w->out, "%s\n\n", table_title(t));
		if (put_md_group(w, t, &r))
			put_md_heads(w, t);
		for (size_t i = 0; i < n; i++) {
			if (!w->shown[i])
				continue;
			buf_puts(w->out, "| ");
			put_md_cell(w, t, i, &r);
			buf_putc(w->out, ' ');
		}
		buf_puts(w->out, "|\n");
		shown++;
	}
	folds_free(&w->folds, w->out);
	buf_reset(&w->word);
	table_put_rest(&w->word, t, shown);
	if (w->word.len)
		buf_printf(w->out, "\n%s\n", buf_str(&w->word));
	if (shown)
		buf_putc(w->out, '\n');
}

static void put_md_line(struct buf *out, const char *label, const char *text)
{
	buf_printf(out, "- %s: ", label);
	text_put_markdown(out, text);
	buf_putc(out, '\n');
}

/* Lines with a label are a list, which ends with an empty line. */
static void put_md_titles(struct buf *out, const struct document *d)
{
	for (size_t i = 0; i < d->title.n; i++) {
		const struct document_line *l = &d->title.v[i];
		const char *mark = l->ink == INK_BOLD ? "**" : "";

		if (l->label) {
			put_md_line(out, l->label, l->text);
			if (i + 1 == d->title.n || !d->title.v[i + 1].label)
				buf_putc(out, '\n');
			continue;
		}
		buf_puts(out, mark);
		text_put_markdown(out, l->text);
		buf_printf(out, "%s\n\n", mark);
	}
}

int format_markdown(struct buf *out, const struct document *d, const struct show *s,
		    struct err *err)
{
	struct writer w = { .out = out, .wide = s->wide };
	const struct table *t;
	size_t at = 0;

	(void)err;
	if (!s->later && !s->table)
		put_md_titles(out, d);
	while ((t = document_next_table(d, s, TABLE_DATA, &at)))
		put_md_table(&w, t);
	for (size_t i = 0; i < d->fact.n && !s->table; i++)
		put_md_line(out, d->fact.v[i].label, d->fact.v[i].text);
	for (size_t i = 0; i < d->note.n && !s->table; i++)
		put_md_line(out, "note", d->note.v[i]);
	out->failed |= w.scratch.failed | w.word.failed | w.group.failed | w.safe.failed;
	buf_free(&w.scratch);
	buf_free(&w.word);
	buf_free(&w.group);
	buf_free(&w.safe);
	return 0;
}
