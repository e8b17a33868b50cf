/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/browse/browse_pages.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"

/* ---- a table on its side --------------------------------------------------------------------- */

static const struct table *page_page_of(const struct table *t)
{
	return t->ctx;
}

/* Rows are columns of the other table: at[0]. */
static bool record_next(const struct table *t, struct table_row *r)
{
	size_t n;
	const struct table_column *c = table_columns(page_page_of(t), &n);

	for (r->at[0] += r->p != NULL; r->at[0] < n; r->at[0]++)
		if (table_has(page_page_of(t), r->at[0], C_PEOPLE)) {
			r->p = &c[r->at[0]];
			return true;
		}
	return false;
}

TABLE_GET(record_head)
{
	table_put_head(out->scratch, r->p);
	out->text = buf_str(out->scratch);
}

TABLE_GET(record_value)
{
	struct table_row one = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;

	if (!table_next(page_page_of(t), &one))
		return;
	table_cell(&x, page_page_of(t), r->p, &one, &scratch);
	cell_put(out->scratch, &x);
	if (cell_has(&x) && ((const struct table_column *)r->p)->flags & C_ERROR) {
		buf_putc(out->scratch, ' ');
		cell_put_error(out->scratch, &x);
	}
	if (!cell_has(&x) && x.e.why)
		buf_printf(out->scratch, " (%s)", x.e.why);
	out->text = buf_str(out->scratch);
	buf_free(&scratch);
}

#define OF(member) TABLE_FIELD(struct table_column, member)
static const struct table_column record_columns[] = {
	COLUMN("head", "", T_TEXT, 0, "", .get = record_head),
	COLUMN("key", "key", T_TEXT, C_DATA, "for programs", OF(key)),
	COLUMN("value", "value", T_TEXT, C_FLEX | C_CUT, "of this result", .get = record_value),
	COLUMN("means", "means", T_TEXT, C_FLEX | C_CUT, "what it is", OF(means)),
};
#undef OF
static const struct table_form record_form = { "record", NULL, 0, TABLE_COLUMNS(record_columns),
					       .next = record_next };

struct table page_record(const struct table *one)
{
	return (struct table){ .form = &record_form, .ctx = one };
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct table_column line_columns[] = {
	COLUMN("label", "", T_TEXT, 0, "", TABLE_FIELD(struct page_line, label)),
	COLUMN("text", "", T_TEXT, C_FLEX | C_CUT, "", TABLE_FIELD(struct page_line, text)),
};
static const struct table_form lines_form = { "lines", NULL, 0, TABLE_COLUMNS(line_columns) };

struct table page_nothing(void)
{
	return (struct table){ .form = &lines_form };
}

struct lines {
	VEC(struct page_line) v;
	struct arena *a;
	unsigned width; /* of texts */
};

/* Columns of the screen without the labels. */
static unsigned text_room(const struct document *d, unsigned width)
{
	size_t label = sizeof("throttled") - 1;

	for (size_t i = 0; i < d->title.n; i++)
		if (d->title.v[i].label && text_width(d->title.v[i].label) > label)
			label = text_width(d->title.v[i].label);
	for (size_t i = 0; i < d->fact.n; i++)
		if (text_width(d->fact.v[i].label) > label)
			label = text_width(d->fact.v[i].label);
	return width > label + 23 ? width - (unsigned)label - 3 : 20;
}

/* In lines as wide as the screen. */
static void add_wrapped(struct lines *l, const char *label, const char *text)
{
	struct buf safe = BUF_INIT, wrapped = BUF_INIT;
	char *save = NULL, *line;

	text_put_safe(&safe, text, false);
	text_put_wrapped(&wrapped, buf_str(&safe), 0, l->width);
	buf_putc(&wrapped, '\n');
	for (line = strtok_r(wrapped.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		*vec_xadd(&l->v) = (struct page_line){ label, arena_xstrdup(l->a, line) };
		label = NULL;
	}
	buf_free(&safe);
	buf_free(&wrapped);
}

static void each_loss(const struct document *d,
		      void (*take)(void *ctx, const struct table_column *c, uint64_t n), void *ctx)
{
	struct buf scratch = BUF_INIT;
	struct table_cell x;

	for (size_t i = 0; i < d->table.n; i++) {
		const struct table *t = &d->table.v[i];
		struct table_row r = { 0 };
		size_t n;
		const struct table_column *c = table_columns(t, &n);

		if (!(t->form->flags & TABLE_ONE) || !table_next(t, &r))
			continue;
		for (size_t k = 0; k < n; k++) {
			if (!(c[k].flags & C_LOSS))
				continue;
			table_cell(&x, t, &c[k], &r, &scratch);
			take(ctx, &c[k], x.none ? 0 : x.n);
		}
	}
	buf_free(&scratch);
}

static void add_loss(void *ctx, const struct table_column *c, uint64_t n)
{
	struct lines *l = ctx;
	char num[NUM_MAX];

	if (n)
		add_wrapped(l, "lost",
			    arena_xprintf(l->a, "%s: %s %s", c->key, num_exact(num, n), c->means));
}

struct table page_about(const struct document *d, unsigned width, struct arena *a)
{
	struct lines l = { .v = VEC_INIT, .a = a, .width = text_room(d, width) };
	struct table t = { .form = &lines_form, .stride = sizeof(struct page_line) };

	for (size_t i = 0; i < d->title.n; i++)
		add_wrapped(&l,
			    d->title.v[i].label ? d->title.v[i].label
			    : i			? ""
						: "of",
			    d->title.v[i].text);
	for (size_t i = 0; i < d->fact.n; i++)
		add_wrapped(&l, d->fact.v[i].label, d->fact.v[i].text);
	each_loss(d, add_loss, &l);
	for (size_t i = 0; i < d->note.n; i++)
		add_wrapped(&l, "note", d->note.v[i]);
	for (size_t i = 0; i < d->n_next; i++)
		add_wrapped(&l, "next",
			    arena_xprintf(a, "%s  (%s)", d->next[i].command, d->next[i].why));
	t.array = arena_xmemdup(a, l.v.v, l.v.n * sizeof(*l.v.v));
	t.n = l.v.n;
	vec_free(&l.v);
	return t;
}

struct losses {
	struct buf *out;
	size_t known, some;
};

static void put_loss(void *ctx, const struct table_column *c, uint64_t n)
{
	struct losses *l = ctx;
	char num[NUM_MAX];

	l->known++;
	if (n)
		buf_printf(l->out, "%s%s %s", l->some++ ? ", " : "", c->head, num_exact(num, n));
}

void page_put_losses(struct buf *out, const struct document *d)
{
	struct losses l = { .out = out };

	each_loss(d, put_loss, &l);
	if (l.known && !l.some)
		buf_puts(out, "no losses");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const struct page_line keys[] = {
	{ "1 ... 9", "results, as the first line numbers them" },
#define KEY(key, called, does, function) { called, does },
#include "cli/screen/sheet_keys.def"
#include "cli/browse/keys.def"
#undef KEY
};

static bool key_next(const struct table *t, struct table_row *r)
{
	(void)t;
	for (; r->at[0] < sizeof(keys) / sizeof(*keys); r->at[0]++)
		if (keys[r->at[0]].label) {
			r->p = &keys[r->at[0]++];
			return true;
		}
	return false;
}

static const struct table_column key_columns[] = {
	COLUMN("key", "key", T_TEXT, 0, "", TABLE_FIELD(struct page_line, label)),
	COLUMN("does", "does", T_TEXT, C_FLEX | C_CUT, "", TABLE_FIELD(struct page_line, text)),
};
static const struct table_form keys_form = { "keys", NULL, 0, TABLE_COLUMNS(key_columns),
					     .next = key_next };

struct table page_keys(void)
{
	return (struct table){ .form = &keys_form };
}
