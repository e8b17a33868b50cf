/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * term - for people on a terminal: titles, tables, facts, the commands worth typing now. Columns
 * are laid out by layout.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "show/document.h"
#include "show/fold.h"
#include "show/layout.h"
#include "show/page.h"

struct sheet {
	struct page p;
	struct layout l;
	struct buf word, group; /* group: the text that the rows at hand share */
};

static void put_term_heads(struct sheet *s)
{
	const struct layout *l = &s->l;

	if (l->over) {
		layout_over(l, s->p.out);
		page_end(&s->p);
	}
	for (unsigned line = 0; line < l->heads; line++) {
		page_ink(&s->p, INK_BOLD);
		for (size_t i = 0; i < l->n; i++) {
			buf_puts(s->p.out, i ? "  " : " ");
			layout_head(l, s->p.out, i, line);
		}
		buf_trim(s->p.out);
		page_ink(&s->p, INK_PLAIN);
		page_end(&s->p);
	}
}

static bool is_group(const struct table *t, size_t column)
{
	size_t n;

	return table_columns(t, &n)[column].flags & C_GROUP;
}

/* A line above rows that share a text. */
static void put_term_group(struct sheet *s, const struct table *t, const struct table_row *r)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n; i++) {
		struct buf scratch = BUF_INIT;
		bool same;

		if (!is_group(t, i))
			continue;
		table_cell(&x, t, &c[i], r, &scratch);
		buf_reset(&s->word);
		cell_put(&s->word, &x);
		buf_free(&scratch);
		same = r->i && !strcmp(buf_str(&s->word), buf_str(&s->group));
		if (same)
			continue;
		buf_reset(&s->group);
		buf_puts(&s->group, buf_str(&s->word));
		if (r->i)
			page_end(&s->p);
		buf_putc(s->p.out, ' ');
		page_ink(&s->p, INK_BOLD);
		page_text(&s->p, buf_str(&s->group), page_room(&s->p, 1), true);
		page_ink(&s->p, INK_PLAIN);
		page_end(&s->p);
		put_term_heads(s);
	}
}

static bool has_groups(const struct table *t)
{
	size_t n;

	(void)table_columns(t, &n);
	while (n && !is_group(t, n - 1))
		n--;
	return n;
}

static void put_term_rows(struct sheet *s, const struct table *t, size_t rows)
{
	struct table_row r = { 0 };

	while ((!r.p || r.i + 1 < rows) && table_next(t, &r)) {
		put_term_group(s, t, &r);
		for (size_t i = 0; i < s->l.n; i++) {
			buf_puts(s->p.out, i ? "  " : " ");
			(void)layout_cell(&s->l, s->p.out, s->p.st, i, &r, NULL);
		}
		page_end(&s->p);
	}
}

/* If rows go on below those of another document, `later`, they have no heads. */
static void put_term_table(struct sheet *s, const struct table *t, bool later)
{
	struct table_row r = { 0 };
	size_t rows = 0;

	layout_open(&s->l, t, s->p.st->ascii);
	for (; (!t->people || rows < t->people) && table_next(t, &r); rows++)
		layout_see(&s->l, &r, NULL);
	layout_fit(&s->l, s->p.st->width);
	if (rows && !later) {
		page_end(&s->p);
		if (table_title(t)) {
			buf_printf(s->p.out, " %s", table_title(t));
			page_end(&s->p);
		}
		if (!has_groups(t))
			put_term_heads(s);
	}
	put_term_rows(s, t, rows);
	buf_reset(&s->word);
	if (rows)
		table_put_rest(&s->word, t, rows);
	if (rows && s->l.out)
		buf_printf(&s->word, "%s(%zu more column%s: a wider terminal or --format csv)",
			   s->word.len ? "  " : "", s->l.out, s->l.out == 1 ? "" : "s");
	layout_close(&s->l, s->p.out);
	if (!s->word.len)
		return;
	page_ink(&s->p, INK_DIM);
	buf_printf(s->p.out, " %s", buf_str(&s->word));
	page_ink(&s->p, INK_PLAIN);
	page_end(&s->p);
}

static void put_term_fact(struct page *p, const char *label, const char *text, bool bad)
{
	buf_reset(&p->text);
	text_put_safe(&p->text, text, p->st->ascii);
	page_labelled(p, label, buf_str(&p->text), bad);
}

/* Above the tables titles take a quarter of a screen of 24 lines: those of more events stand
 * below. */
#define TITLE_LINES 6

/* A function's name is folded to about two lines. */
static void put_term_labelled(struct page *p, const char *label, const char *text)
{
	struct buf safe = BUF_INIT, name = BUF_INIT;

	text_put_safe(&safe, text, p->st->ascii);
	if (p->st->width && !strcmp(label, "function"))
		fold_name(&name, buf_str(&safe), page_room(p, 0) * 3 / 2, NULL, 0, p->st->ascii);
	page_labelled(p, label, buf_str(name.len ? &name : &safe), false);
	p->text.failed |= safe.failed | name.failed;
	buf_free(&safe);
	buf_free(&name);
}

/* Those in an ink (a command, a machine) are cut, others go on in the next line. */
static void put_term_title(struct page *p, const struct document_line *l)
{
	buf_putc(p->out, ' ');
	if (l->ink == INK_PLAIN) {
		buf_reset(&p->text);
		text_put_safe(&p->text, l->text, p->st->ascii);
		text_put_wrapped(p->out, buf_str(&p->text), 1, p->st->width);
	} else {
		page_ink(p, l->ink);
		page_text(p, l->text, page_room(p, 1), true);
		page_ink(p, INK_PLAIN);
	}
	page_end(p);
}

/* Returns how many titles stand above the tables. Heads with labels all do. */
static size_t titles_above(const struct document *d)
{
	size_t labels = 0;

	for (size_t i = 0; i < d->title.n; i++)
		labels += d->title.v[i].label != NULL;
	return labels || d->title.n <= TITLE_LINES ? d->title.n : TITLE_LINES;
}

static void put_term_titles_of(struct page *p, const struct document *d, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (d->title.v[i].label)
			put_term_labelled(p, d->title.v[i].label, d->title.v[i].text);
		else
			put_term_title(p, &d->title.v[i]);
}

static void put_term_titles(struct page *p, const struct document *d)
{
	put_term_titles_of(p, d, 0, d->title.n);
}

static void put_term_facts(struct page *p, const struct document *d)
{
	for (size_t i = 0; i < d->fact.n; i++)
		put_term_fact(p, d->fact.v[i].label, d->fact.v[i].text,
			      d->fact.v[i].ink != INK_PLAIN);
}

static void put_term_notes(struct page *p, const struct document *d)
{
	for (size_t i = 0; i < d->note.n; i++)
		put_term_fact(p, "note", d->note.v[i], true);
}

static void put_term_lines(struct buf *out, const struct document *d, const struct style *st,
			   void (*put)(struct page *p, const struct document *d))
{
	struct page p = { .out = out, .st = st };

	put(&p, d);
	out->failed |= p.text.failed;
	buf_free(&p.text);
}

void term_titles(struct buf *out, const struct document *d, const struct style *st)
{
	put_term_lines(out, d, st, put_term_titles);
}

void term_facts(struct buf *out, const struct document *d, const struct style *st)
{
	put_term_lines(out, d, st, put_term_facts);
}

void term_notes(struct buf *out, const struct document *d, const struct style *st)
{
	put_term_lines(out, d, st, put_term_notes);
}

static struct sheet *open_sheet(struct buf *out, const struct style *st)
{
	struct sheet *s = xcalloc(1, sizeof(*s));

	s->p = (struct page){ .out = out, .st = st };
	return s;
}

static void close_sheet(struct sheet *s)
{
	s->p.out->failed |= s->word.failed | s->group.failed | s->p.text.failed;
	buf_free(&s->p.text);
	buf_free(&s->word);
	buf_free(&s->group);
	free(s);
}

void term_table(struct buf *out, const struct table *t, const struct style *st)
{
	struct sheet *s = open_sheet(out, st);

	put_term_table(s, t, false);
	close_sheet(s);
}

int format_term(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct sheet *sheet = open_sheet(out, &s->style);
	bool bare = s->table; /* nothing but one table */
	const struct table *t;
	size_t at = 0;

	(void)err;
	if (!s->later && !bare)
		put_term_titles_of(&sheet->p, d, 0, titles_above(d));
	if (!bare && d->above)
		d->above(out, d, &s->style);
	while ((t = document_next_table(d, s, TABLE_DATA, &at)))
		put_term_table(sheet, t, s->later);
	if (!s->later && !bare && titles_above(d) < d->title.n) {
		page_end(&sheet->p);
		put_term_titles_of(&sheet->p, d, titles_above(d), d->title.n);
	}
	if (!bare) {
		if (!s->later && d->fact.n + d->note.n)
			page_end(&sheet->p);
		put_term_facts(&sheet->p, d);
		put_term_notes(&sheet->p, d);
	}
	if (d->n_next && !s->quiet && !bare) {
		if (!d->tight)
			page_end(&sheet->p);
		next_put(out, d->next, d->n_next, &s->style);
	}
	close_sheet(sheet);
	return 0;
}
