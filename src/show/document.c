/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct format formats[] = {
#define FORMAT(name, write, machine, one_table) { name, write, machine, one_table },
#include "show/format.def"
#undef FORMAT
};
enum { N_FORMATS = sizeof(formats) / sizeof(*formats) };

static void note_document_text(const struct table *t, const struct table_column *c,
			       const struct table_row *r, struct table_cell *out)
{
	(void)t;
	(void)c;
	out->text = *(const char *const *)r->p;
}

static const struct table_column notes_columns[] = {
	{ "note", "note", T_TEXT, C_KEY, NULL, "what to know before the figures are believed",
	  .get = note_document_text },
};
const struct table_form document_notes_form = { "notes", NULL, TABLE_LINES | TABLE_DATA,
						TABLE_COLUMNS(notes_columns), .rest = "note" };

/* ---- which format, which table --------------------------------------------------------------- */

/* Returns formats by number, the result's own first; NULL: no more. */
static const struct format *nth(const struct document_form *f, size_t i)
{
	if (i < f->n_faces)
		return &f->face[i];
	i -= f->n_faces;
	return i < N_FORMATS ? &formats[i] : NULL;
}

static const struct format *document_find_format(const struct document_form *f, const char *name)
{
	const struct format *x;

	for (size_t i = 0; (x = nth(f, i)); i++)
		if (!strcmp(x->name, name))
			return x;
	return NULL;
}

static void add_document_word(struct buf *b, const char *word, bool last)
{
	buf_printf(b, "%s%s", !b->len ? "" : last ? " or " : ", ", word);
}

static int no_document_such(struct err *err, const char *option, const struct buf *words)
{
	(void)err_hint(err, "--%s %s", option, buf_str(words));
	return -1;
}

/* Those of all results, then those of this one alone. */
static int no_document_format(const struct document_form *f, const char *format, struct err *err)
{
	struct buf b = BUF_INIT;
	const char *own[8];
	size_t n = 0;
	int ret;

	for (size_t i = 0; i < f->n_faces && n < sizeof(own) / sizeof(*own); i++) {
		bool common = false;

		for (size_t k = 0; k < N_FORMATS; k++)
			common |= !strcmp(f->face[i].name, formats[k].name);
		if (!common)
			own[n++] = f->face[i].name;
	}
	for (size_t i = 0; i < N_FORMATS; i++)
		add_document_word(&b, formats[i].name, !n && i + 1 == N_FORMATS);
	for (size_t i = 0; i < n; i++)
		add_document_word(&b, own[i], i + 1 == n);
	(void)err_set(err, ERR_USAGE, "%s has no format '%.40s'", f->name, format);
	ret = no_document_such(err, "format", &b);
	buf_free(&b);
	return ret;
}

static bool offers(const struct table_form *t)
{
	return !(t->flags & TABLE_PEOPLE);
}

static int no_table(const struct document_form *f, const char *table, struct err *err)
{
	struct buf b = BUF_INIT;
	int ret;

	for (size_t i = 0; i < f->n_tables; i++)
		if (offers(f->table[i]))
			add_document_word(&b, f->table[i]->name, false);
	add_document_word(&b, document_notes_form.name, true);
	(void)err_set(err, ERR_USAGE, "%s has no table '%.40s'", f->name, table);
	ret = no_document_such(err, "table", &b);
	buf_free(&b);
	return ret;
}

int show_choose(struct show *s, const struct document_form *f, const char *format,
		const char *table, struct err *err)
{
	bool known = !table || !strcmp(table, document_notes_form.name);

	s->format = document_find_format(f, format);
	if (!s->format)
		return no_document_format(f, format, err);
	for (size_t i = 0; i < f->n_tables && !known; i++)
		known = offers(f->table[i]) && !strcmp(f->table[i]->name, table);
	if (!known)
		return no_table(f, table, err);
	s->table = table;
	return 0;
}

bool show_wants(const struct show *s, const struct table_form *f)
{
	if (s->table)
		return !strcmp(f->name, s->table);
	if (s->format->one_table)
		return f->flags & TABLE_MAIN;
	return s->format->machine || !(f->flags & TABLE_DATA);
}

bool show_is_data(const struct show *s)
{
	const char *name = s->format->name;

	return !strcmp(name, "csv") || !strcmp(name, "json") || !strcmp(name, "html");
}

/* ---- making one ------------------------------------------------------------------------------ */

void document_open(struct document *d, const struct document_form *f, const void *ctx)
{
	*d = (struct document){ .form = f, .ctx = ctx, .a = ARENA_INIT };
}

void document_close(struct document *d)
{
	vec_free(&d->table);
	vec_free(&d->title);
	vec_free(&d->fact);
	vec_free(&d->note);
	arena_free(&d->a);
}

static bool of_form(const struct document_form *f, const struct table_form *t)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (f->table[i] == t)
			return true;
	return false;
}

void document_table(struct document *d, const struct table *t)
{
	assert(of_form(d->form, t->form));
	(void)of_form;
	table_check(t);
	if (vec_push(&d->table, *t))
		d->failed = true;
}

static const char *document_text_of(struct document *d, const char *fmt, va_list ap) PRINTF_(2, 0);

static const char *document_text_of(struct document *d, const char *fmt, va_list ap)
{
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	s = n < 0 ? NULL : arena_alloc(&d->a, (size_t)n + 1);
	if (!s) {
		d->failed = true;
		return "";
	}
	(void)vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}

void document_title(struct document *d, enum ink ink, const char *fmt, ...)
{
	struct document_line l = { .ink = ink };
	va_list ap;

	va_start(ap, fmt);
	l.text = document_text_of(d, fmt, ap);
	va_end(ap);
	if (vec_push(&d->title, l))
		d->failed = true;
}

void document_head(struct document *d, const char *label, const char *fmt, ...)
{
	struct document_line l = { .label = label, .ink = INK_PLAIN };
	va_list ap;

	va_start(ap, fmt);
	l.text = document_text_of(d, fmt, ap);
	va_end(ap);
	if (vec_push(&d->title, l))
		d->failed = true;
}

void document_fact(struct document *d, const char *label, bool bad, const char *fmt, ...)
{
	struct document_line l = { .ink = bad ? INK_WARM : INK_PLAIN };
	va_list ap;

	l.label = arena_strdup(&d->a, label);
	d->failed |= !l.label;

	va_start(ap, fmt);
	l.text = document_text_of(d, fmt, ap);
	va_end(ap);
	if (vec_push(&d->fact, l))
		d->failed = true;
}

void document_note(struct document *d, const char *text)
{
	if (vec_push(&d->note, text))
		d->failed = true;
}

void document_next(struct document *d, const char *command, const char *why)
{
	if (d->n_next < NEXT_MAX)
		d->next[d->n_next++] = (struct next){ command, why };
}

void document_next_last(struct document *d, const char *command, const char *why)
{
	assert(d->n_next <= NEXT_MAX);
	d->next[d->n_next++] = (struct next){ command, why };
}

/* ---- writing it ------------------------------------------------------------------------------ */

static bool document_wanted(const struct table *t, const struct show *s, unsigned not_flags)
{
	const struct table_form *f = t->form;

	if (s->table)
		return !strcmp(f->name, s->table);
	if (f->flags & not_flags || (t->data_only && not_flags & TABLE_DATA))
		return false;
	return !s->format->one_table || (f->flags & TABLE_MAIN && !t->aside);
}

const struct table *document_next_table(const struct document *d, const struct show *s,
					unsigned not_flags, size_t *at)
{
	while (*at < d->table.n) {
		const struct table *t = &d->table.v[(*at)++];

		if (document_wanted(t, s, not_flags))
			return t;
	}
	return NULL;
}

int document_write(struct buf *out, struct document *d, const struct show *s, struct err *err)
{
	const struct table notes = { .form = &document_notes_form,
				     .array = d->note.v,
				     .stride = sizeof(*d->note.v),
				     .n = d->note.n };
	int ret;

	if (vec_push(&d->table, notes))
		d->failed = true;
	if (d->failed)
		return err_nomem(err);
	ret = s->format->write(out, d, s, err);
	d->table.n--; /* the notes: it may be written again */
	return ret ? -1 : buf_error(out, err);
}

static void unsaid_losses(struct buf *lines, const struct table *t)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	if (table_next(t, &r))
		for (size_t i = 0; i < n; i++) {
			table_cell(&x, t, &c[i], &r, &scratch);
			if (c[i].flags & C_LOSS && x.n)
				buf_printf(lines, "%s: %" PRIu64 " (%s)\n", c[i].key, x.n,
					   c[i].means);
		}
	lines->failed |= scratch.failed;
	buf_free(&scratch);
}

/* A line, whatever is in it. */
static void unsaid_note(struct buf *lines, const char *note)
{
	buf_puts(lines, "note: ");
	text_put_safe(lines, note, false);
	buf_putc(lines, '\n');
}

void document_unsaid(struct buf *lines, const struct document *d, const struct show *s)
{
	if (!s->format->one_table && !s->table)
		return;
	for (size_t i = 0; i < d->table.n; i++) {
		const struct table *t = &d->table.v[i];

		if (t->form->flags & TABLE_ONE && !document_wanted(t, s, 0))
			unsaid_losses(lines, t);
	}
	if (!s->table || strcmp(s->table, document_notes_form.name) != 0)
		for (size_t i = 0; i < d->note.n; i++)
			unsaid_note(lines, d->note.v[i]);
}
