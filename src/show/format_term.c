/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * term - for people on a terminal: titles, tables, facts, the commands worth typing now.
 *
 * Columns are as wide as what is in them; those that may be cut (C_FLEX) share what is left of the
 * line. Where that is little, columns that may be left out (C_DROP) are.
 */
#include <string.h>

#include "base/text.h"
#include "base/text_short.h"
#include "show/document.h"
#include "show/page.h"

enum { COLUMNS_MAX = 160, GAP = 2, INDENT = 2, LEAST_FLEX = 8, GOOD_FLEX = 24 };
#define HOT  0.10
#define WARM 0.02

struct sheet {
	struct page p;
	struct buf scratch, word, group, name;
	const struct table *t;
	const struct table_column *column;
	size_t n; /* columns, COLUMNS_MAX at most */
	size_t rows, heads, dropped;
	struct {
		size_t width, error;
		bool shown;
		struct text_names name;
	} of[COLUMNS_MAX];
};

static size_t width_of(const struct sheet *s, const char *text)
{
	struct buf safe = BUF_INIT;
	size_t n;

	text_put_safe(&safe, text, s->p.st->ascii);
	n = text_width(buf_str(&safe));
	buf_free(&safe);
	return n;
}

static void widen(size_t *width, size_t to)
{
	if (to > *width)
		*width = to;
}

static const char *word_of(struct sheet *s, const struct table_cell *x)
{
	buf_reset(&s->word);
	cell_put(&s->word, x);
	return buf_str(&s->word);
}

static const char *error_of(struct sheet *s, const struct table_cell *x)
{
	buf_reset(&s->word);
	cell_put_error(&s->word, x);
	return buf_str(&s->word);
}

static bool is_text(const struct table_column *c)
{
	return c->kind == T_TEXT || c->kind == T_LIST;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool has_names(const struct sheet *s, size_t i)
{
	return (s->column[i].flags & (C_FLEX | C_KEEP_END | C_CUT)) == C_FLEX &&
	       is_text(&s->column[i]) && s->p.st->width;
}

/* Columns of a cell that are not its name's. A tail is kept if it leaves room for a name. */
static size_t taken(const struct table_cell *x)
{
	return (size_t)x->indent * INDENT + (cell_has(x) && x->tail ? strlen(x->tail) : 0);
}

/* The name of a cell, safe. Valid until the next call. */
static const char *name_of(struct sheet *s, const struct table_cell *x)
{
	const char *text = cell_has(x) && x->tail ? x->text : word_of(s, x);

	buf_reset(&s->name);
	text_put_safe(&s->name, text, s->p.st->ascii);
	return buf_str(&s->name);
}

static void settle_names(struct sheet *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->of[i].shown && has_names(s, i))
			text_names_settle(&s->of[i].name, s->of[i].width, s->p.st->ascii);
}

static void free_names(struct sheet *s)
{
	for (size_t i = 0; i < s->n; i++)
		text_names_free(&s->of[i].name, s->p.out);
}

/* ---- widths ---------------------------------------------------------------------------------- */

static void measure_cell(struct sheet *s, size_t i, const struct table_row *r)
{
	struct table_cell x;

	table_cell(&x, s->t, &s->column[i], r, &s->scratch);
	widen(&s->of[i].width, width_of(s, word_of(s, &x)) + (size_t)x.indent * INDENT);
	if (has_names(s, i))
		text_names_add(&s->of[i].name, name_of(s, &x), taken(&x));
	if (s->column[i].flags & C_ERROR)
		widen(&s->of[i].error, strlen(error_of(s, &x)));
}

static bool people_see(const struct sheet *s, size_t i)
{
	return table_has(s->t, i, C_DATA | C_GROUP);
}

/* The width of a line whose texts that may be cut have `flex` columns at most; 0: all of theirs. */
static size_t line_width(const struct sheet *s, size_t flex)
{
	size_t used = 1;

	for (size_t i = 0; i < s->n; i++) {
		size_t width = s->of[i].width;

		if (!s->of[i].shown)
			continue;
		if (flex && s->column[i].flags & C_FLEX && width > flex)
			width = flex;
		used += width + (s->of[i].error ? 1 + s->of[i].error : 0) + GAP;
	}
	return used > 1 ? used - GAP : used;
}

static void drop(struct sheet *s)
{
	size_t width = s->p.st->width;

	s->dropped = 0;
	for (size_t i = s->n; width && i-- > 0 && line_width(s, GOOD_FLEX) > width;) {
		if (!s->of[i].shown || !(s->column[i].flags & C_DROP))
			continue;
		s->of[i].shown = false;
		s->dropped++;
	}
}

/* Those that may be cut get less where the line would be too long, the widest first. */
static void narrow(struct sheet *s)
{
	size_t used = line_width(s, 0), width = s->p.st->width;

	while (width && used > width) {
		size_t widest = s->n;

		for (size_t i = 0; i < s->n; i++)
			if (s->of[i].shown && s->column[i].flags & C_FLEX &&
			    (widest == s->n || s->of[i].width > s->of[widest].width))
				widest = i;
		if (widest == s->n || s->of[widest].width <= LEAST_FLEX)
			return;
		s->of[widest].width--;
		used--;
	}
}

/* ---- heads ----------------------------------------------------------------------------------- */

static size_t lines_of(const char *head)
{
	size_t n = 1;

	for (; *head; head++)
		n += *head == '\n';
	return n;
}

static size_t width_of_head(const char *head)
{
	size_t width = 0;

	for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
		widen(&width, strcspn(head, "\n"));
	return width;
}

/* A line of a head, of which the last lines stand beside each other. */
static void put_head(struct sheet *s, size_t i, size_t line)
{
	const char *head = s->column[i].head;
	size_t above = s->heads - lines_of(head), len;

	for (; line > above; above++)
		head += strcspn(head, "\n") + 1;
	buf_reset(&s->word);
	len = line < above ? 0 : strcspn(head, "\n");
	buf_printf(&s->word, "%.*s", (int)len, head);
	if (is_text(&s->column[i]))
		buf_put_left(s->p.out, buf_str(&s->word), s->of[i].width);
	else
		buf_put_right(s->p.out, buf_str(&s->word), s->of[i].width);
}

static void measure(struct sheet *s)
{
	struct table_row r = { 0 };

	memset(s->of, 0, sizeof(s->of));
	for (s->rows = 0; (!s->t->people || s->rows < s->t->people) && table_next(s->t, &r);
	     s->rows++)
		for (size_t i = 0; i < s->n; i++)
			if (people_see(s, i))
				measure_cell(s, i, &r);
	for (size_t i = 0; i < s->n; i++) {
		s->of[i].shown = people_see(s, i) && !table_empty(s->t, i);
		widen(&s->of[i].width, width_of_head(s->column[i].head));
		widen(&s->of[i].width, s->column[i].least);
	}
	drop(s);
	narrow(s);
	s->heads = 1;
	for (size_t i = 0; i < s->n; i++)
		if (s->of[i].shown)
			widen(&s->heads, lines_of(s->column[i].head));
	settle_names(s);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t last_shown(const struct sheet *s)
{
	size_t last = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->of[i].shown)
			last = i;
	return last;
}

static void put_heads(struct sheet *s)
{
	for (size_t line = 0; line < s->heads; line++) {
		const char *gap = " ";

		page_ink(&s->p, INK_BOLD);
		for (size_t i = 0; i < s->n; i++) {
			if (!s->of[i].shown)
				continue;
			buf_puts(s->p.out, gap);
			gap = "  ";
			put_head(s, i, line);
			if (!s->of[i].error)
				continue;
			buf_putc(s->p.out, ' ');
			buf_put_left(s->p.out, line + 1 == s->heads ? "+-" : "", s->of[i].error);
		}
		buf_trim(s->p.out);
		page_ink(&s->p, INK_PLAIN);
		page_end(&s->p);
	}
}

static void put_text(struct sheet *s, size_t i, const struct table_cell *x, bool last)
{
	size_t width = s->of[i].width, indent = (size_t)x->indent * INDENT;
	const char *name = NULL;

	indent = indent < width ? indent : width;
	buf_fill(s->p.out, ' ', indent);
	width -= indent;
	if (!width)
		return;
	if (has_names(s, i))
		name = text_names_get(&s->of[i].name, name_of(s, x), taken(x));
	if (cell_has(x) && x->tail && *x->tail)
		page_named(&s->p, name ? name : x->text, x->tail, width);
	else if (name)
		page_text(&s->p, name, width, last);
	else if (s->column[i].flags & C_KEEP_END)
		page_text_end(&s->p, word_of(s, x), width, last);
	else
		page_text(&s->p, word_of(s, x), width, last);
}

static enum ink heat(double share)
{
	return share >= HOT ? INK_HOT : share >= WARM ? INK_WARM : INK_PLAIN;
}

static void put_cell(struct sheet *s, size_t i, const struct table_cell *x, bool last)
{
	enum ink ink = x->dim ? INK_DIM : s->column[i].flags & C_HEAT ? heat(x->e.v) : INK_PLAIN;

	if (ink != INK_PLAIN)
		page_ink(&s->p, ink);
	if (is_text(&s->column[i]))
		put_text(s, i, x, last);
	else
		buf_put_right(s->p.out, word_of(s, x), s->of[i].width);
	if (ink != INK_PLAIN && !x->dim)
		page_ink(&s->p, INK_PLAIN);
	if (s->of[i].error && !is_text(&s->column[i])) {
		buf_putc(s->p.out, ' ');
		buf_put_left(s->p.out, error_of(s, x), s->of[i].error);
	}
	if (x->dim)
		page_ink(&s->p, INK_PLAIN);
}

/* A line above rows that share a text. */
static void put_group(struct sheet *s, const struct table_row *r)
{
	struct table_cell x;

	for (size_t i = 0; i < s->n; i++) {
		if (!(s->column[i].flags & C_GROUP))
			continue;
		table_cell(&x, s->t, &s->column[i], r, &s->scratch);
		if (r->i && !strcmp(word_of(s, &x), buf_str(&s->group)))
			continue;
		buf_reset(&s->group);
		buf_puts(&s->group, word_of(s, &x));
		if (r->i)
			page_end(&s->p);
		buf_putc(s->p.out, ' ');
		page_ink(&s->p, INK_BOLD);
		page_text(&s->p, buf_str(&s->group), page_room(&s->p, 1), true);
		page_ink(&s->p, INK_PLAIN);
		page_end(&s->p);
		put_heads(s);
	}
}

static bool has_groups(const struct sheet *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->column[i].flags & C_GROUP)
			return true;
	return false;
}

static void put_rows(struct sheet *s)
{
	struct table_row r = { 0 };
	struct table_cell x;
	size_t last = last_shown(s);

	while ((!r.p || r.i + 1 < s->rows) && table_next(s->t, &r)) {
		const char *gap = " ";

		put_group(s, &r);
		for (size_t i = 0; i < s->n; i++) {
			if (!s->of[i].shown)
				continue;
			table_cell(&x, s->t, &s->column[i], &r, &s->scratch);
			buf_puts(s->p.out, gap);
			gap = "  ";
			put_cell(s, i, &x, i == last);
		}
		page_end(&s->p);
	}
}

/* Where rows go on below those of another document, `later`, they have no heads. */
static void put_table(struct sheet *s, const struct table *t, bool later)
{
	s->t = t;
	s->column = table_columns(t, &s->n);
	s->n = s->n < COLUMNS_MAX ? s->n : COLUMNS_MAX;
	measure(s);
	if (!s->rows) {
		free_names(s);
		return;
	}
	if (!later)
		page_end(&s->p);
	if (!later && table_title(t)) {
		buf_printf(s->p.out, " %s", table_title(t));
		page_end(&s->p);
	}
	if (!later && !has_groups(s))
		put_heads(s);
	put_rows(s);
	free_names(s);
	buf_reset(&s->word);
	table_put_rest(&s->word, t, s->rows);
	if (s->dropped)
		buf_printf(&s->word, "%s(%zu more column%s: a wider terminal or --format csv)",
			   s->word.len ? "  " : "", s->dropped, s->dropped == 1 ? "" : "s");
	if (!s->word.len)
		return;
	page_ink(&s->p, INK_DIM);
	buf_printf(s->p.out, " %s", buf_str(&s->word));
	page_ink(&s->p, INK_PLAIN);
	page_end(&s->p);
}

static void put_fact(struct page *p, const char *label, const char *text, bool bad)
{
	buf_reset(&p->text);
	text_put_safe(&p->text, text, p->st->ascii);
	page_labelled(p, label, buf_str(&p->text), bad);
}

/* Those in an ink (a command, a machine) are cut, others go on in the next line. */
static void put_title(struct page *p, const struct document_line *l)
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

static void put_titles(struct page *p, const struct document *d)
{
	for (size_t i = 0; i < d->title.n; i++) {
		if (d->title.v[i].label) {
			put_fact(p, d->title.v[i].label, d->title.v[i].text, false);
			continue;
		}
		put_title(p, &d->title.v[i]);
	}
}

static void put_facts(struct page *p, const struct document *d)
{
	for (size_t i = 0; i < d->fact.n; i++)
		put_fact(p, d->fact.v[i].label, d->fact.v[i].text, d->fact.v[i].ink != INK_PLAIN);
}

static void put_notes(struct page *p, const struct document *d)
{
	for (size_t i = 0; i < d->note.n; i++)
		put_fact(p, "note", d->note.v[i], true);
}

static void put_lines(struct buf *out, const struct document *d, const struct style *st,
		      void (*put)(struct page *p, const struct document *d))
{
	struct page p = { .out = out, .st = st };

	put(&p, d);
	out->failed |= p.text.failed;
	buf_free(&p.text);
}

void term_titles(struct buf *out, const struct document *d, const struct style *st)
{
	put_lines(out, d, st, put_titles);
}

void term_facts(struct buf *out, const struct document *d, const struct style *st)
{
	put_lines(out, d, st, put_facts);
}

void term_notes(struct buf *out, const struct document *d, const struct style *st)
{
	put_lines(out, d, st, put_notes);
}

static void close_sheet(struct sheet *s)
{
	s->p.out->failed |= s->scratch.failed | s->word.failed | s->group.failed | s->name.failed |
			    s->p.text.failed;
	buf_free(&s->p.text);
	buf_free(&s->scratch);
	buf_free(&s->word);
	buf_free(&s->name);
	buf_free(&s->group);
}

void term_table(struct buf *out, const struct table *t, const struct style *st)
{
	struct sheet sheet = { .p = { .out = out, .st = st } };

	put_table(&sheet, t, false);
	close_sheet(&sheet);
}

int format_term(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct sheet sheet = { .p = { .out = out, .st = &s->style } };
	const struct table *t;
	size_t at = 0;

	(void)err;
	if (!s->later && !s->table)
		put_titles(&sheet.p, d);
	while ((t = document_next_table(d, s, TABLE_DATA, &at)))
		put_table(&sheet, t, s->later);
	if (!s->table) {
		if (!s->later && d->fact.n + d->note.n)
			page_end(&sheet.p);
		put_facts(&sheet.p, d);
		put_notes(&sheet.p, d);
	}
	if (d->n_next && !s->quiet && !s->table) {
		page_end(&sheet.p);
		next_put(out, d->next, d->n_next, &s->style);
	}
	close_sheet(&sheet);
	return 0;
}
