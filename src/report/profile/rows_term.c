/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * term - the report as people read it, 80 columns or what the terminal has. First what was
 * recorded, then the rows, hottest first, then what the numbers do not cover, then the next
 * command.
 *
 * Column widths follow the contents; where they do not fit, the columns marked FLEX give way first,
 * then the other names. Every text is made safe before it is measured.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/text_short.h"
#include "report/profile/facts.h"
#include "report/rows.h"
#include "report/tree_saved.h"

#define MAX_SLOTS  96 /* columns as shown: weights once per event */
#define INDENT_MAX 16 /* levels that are drawn; deeper ones say their number */
#define NARROWEST  8
#define NOTE	   17 /* columns in front of a note */
#define HOT	   0.10
#define WARM	   0.02

struct slot {
	enum column_id id;
	size_t event;
	unsigned width;
	bool flex, text, names; /* names: shortened so that no two look alike */
	struct text_names name;
};

struct table_page {
	struct buf *out;
	const struct view *v;
	const struct style *st;
	struct slot slot[MAX_SLOTS];
	size_t n_slots, fold_slot; /* where a fold says what it is; n_slots: behind them */
	bool more[INDENT_MAX + 1]; /* siblings follow at this level */
	struct buf cell, scratch;
	size_t indent; /* bytes of it in front of the name */
};

static bool is_tree(const struct table_page *p)
{
	return p->v->opts.shape >= VIEW_CALLEES;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

static bool branches(const struct table_page *p, const struct view_table *t,
		     const struct view_row *r)
{
	(void)p;
	return r->indent > (r->parent ? t->row[r->parent - 1].indent : 0);
}

static void put_indent(struct table_page *p, const struct view_table *t, const struct view_row *r)
{
	static const char *const glyphs[2][4] = {
		{ "\xe2\x94\x82 ", "\xe2\x94\x9c ", "\xe2\x94\x94 ", "  " },
		{ "| ", "|-", "`-", "  " },
	};
	const char *const *g = glyphs[p->st->ascii];
	unsigned n = r->indent;

	if (n > INDENT_MAX) {
		for (unsigned i = 1; i < INDENT_MAX; i++)
			buf_puts(&p->cell, p->more[i] ? g[0] : g[3]);
		buf_printf(&p->cell, "+%u ", n - INDENT_MAX);
		return;
	}
	for (unsigned i = 1; i < n; i++)
		buf_puts(&p->cell, p->more[i] ? g[0] : g[3]);
	if (!n)
		return;
	if (branches(p, t, r)) {
		p->more[n] = !r->last;
		buf_puts(&p->cell, r->last ? g[2] : g[1]);
	} else {
		buf_puts(&p->cell, p->more[n] ? g[0] : g[3]);
	}
}

static bool says_fold(const struct table_page *p, const struct view_row *r, size_t s)
{
	return r->folded && s == p->fold_slot;
}

/* What it says may run over its column where none follows. */
static bool runs_over(const struct table_page *p, const struct view_row *r, size_t s)
{
	return says_fold(p, r, s) && s + 1 == p->n_slots && !is_tree(p);
}

/* The value, or of a column of errors the error of another column's. */
static void put_value(struct table_page *p, const struct view_table *t, const struct view_row *r,
		      const struct slot *slot)
{
	const struct column *c = &column_table[slot->id];
	bool bar = c->flags & COLUMN_BAR;
	enum column_id id = bar ? (enum column_id)c->show.which : slot->id;
	struct table_cell x =
		column_cell(id, p->v, (size_t)(t - p->v->table), r, slot->event, &p->scratch);

	if (bar && cell_has(&x))
		cell_put_error(&p->cell, &x);
	else if (bar)
		buf_puts(&p->cell, x.says && *x.says ? "+-?" : "");
	else if (!cell_has(&x))
		buf_puts(&p->cell, x.says ? x.says : "");
	else if (x.kind != T_TEXT)
		cell_put(&p->cell, &x);
	else
		text_put_safe(&p->cell, x.text, p->st->ascii);
	if (x.tail && cell_has(&x))
		buf_puts(&p->cell, x.tail);
}

static void fill_cell(struct table_page *p, const struct view_table *t, const struct view_row *r,
		      size_t s)
{
	const struct slot *slot = &p->slot[s];

	buf_reset(&p->cell);
	if (slot->id == COL_FRAME)
		put_indent(p, t, r);
	p->indent = p->cell.len;
	if (r->id && r->folded && (slot->id == COL_SELF || slot->id == COL_ERROR))
		return; /* a fold of a tree stands for whole subtrees */
	put_value(p, t, r, slot);
	if (says_fold(p, r, s) && p->cell.len == p->indent)
		rows_fold_name(&p->cell, r);
}

/* ---- widths ------------------------------------------------------------------------------------
 */

static int add_slot(struct table_page *p, enum column_id id, size_t event)
{
	const struct column *c = &column_table[id];
	struct slot *s = &p->slot[p->n_slots];

	if (p->n_slots == MAX_SLOTS)
		return -1;
	*s = (struct slot){ .id = id, .event = event, .flex = c->flags & C_FLEX };
	s->text = c->align == TEXT_LEFT && !(c->flags & COLUMN_WEIGHT);
	s->names = s->flex && s->text && !(c->flags & C_KEEP_END);
	s->width = c->width;
	if (s->width < strlen(c->show.head))
		s->width = (unsigned)strlen(c->show.head);
	p->n_slots++;
	return 0;
}

/* Weights stand once per event, events one after the other; then the names. */
static int make_slots(struct table_page *p, const struct view_table *t, struct err *err)
{
	const struct column_list *l = &p->v->columns;
	const size_t named = rows_fold_column(p->v);
	int rc = 0;

	p->n_slots = 0;
	for (size_t e = 0; e < t->n_events; e++)
		for (size_t i = 0; i < l->n; i++)
			if (column_table[l->id[i]].flags & COLUMN_WEIGHT || t->n_events == 1)
				rc |= add_slot(p, l->id[i], e);
	for (size_t i = 0; t->n_events > 1 && i < l->n; i++)
		if (!(column_table[l->id[i]].flags & COLUMN_WEIGHT))
			rc |= add_slot(p, l->id[i], 0);
	p->fold_slot = 0;
	while (p->fold_slot < p->n_slots &&
	       (named == l->n || p->slot[p->fold_slot].id != l->id[named]))
		p->fold_slot++;
	return rc ? err_set(err, ERR_LIMIT, "more than %d columns: choose with -e or --fields",
			    MAX_SLOTS)
		  : 0;
}

/* Blanks before a column: an error bar stands close to its share. */
static unsigned gap(const struct slot *s)
{
	const struct column *c = &column_table[s->id];

	return s->id == COL_ERROR || s->id == COL_TOTAL_ERROR ||
			       (c->flags & COLUMN_BAR && c->of == COLUMN_OF_MEMORY)
		       ? 1
		       : 2;
}

static unsigned page_width(const struct table_page *p)
{
	unsigned width = 1;

	for (size_t s = 0; s < p->n_slots; s++)
		width += p->slot[s].width + (s ? gap(&p->slot[s]) : 0);
	return width;
}

/* Takes from the widest of the columns that may give until the page fits or none can. */
static void shrink(struct table_page *p, bool flex, unsigned least)
{
	unsigned width = page_width(p);

	while (width > p->st->width) {
		struct slot *widest = NULL;

		for (size_t s = 0; s < p->n_slots; s++) {
			struct slot *c = &p->slot[s];

			if (c->text && c->flex == flex && c->width > least &&
			    (!widest || c->width >= widest->width))
				widest = c;
		}
		if (!widest)
			return;
		widest->width--;
		width--;
	}
}

/* Code without a name is called by its address, which is told from others by its end. */
static bool is_address(const char *s)
{
	return !strncmp(s, "0x", 2) && s[2] && s[2 + strspn(s + 2, "0123456789abcdef")] == '\0';
}

/* Columns that the indent of the cell takes. */
static size_t indent_width(const struct table_page *p)
{
	return text_width(buf_str(&p->cell)) - text_width(buf_str(&p->cell) + p->indent);
}

static void add_name(struct table_page *p, const struct view_row *r, size_t s)
{
	if (p->slot[s].names && p->st->width && !r->folded)
		text_names_add(&p->slot[s].name, buf_str(&p->cell) + p->indent, indent_width(p));
}

static void settle_names(struct table_page *p)
{
	for (size_t s = 0; s < p->n_slots; s++)
		if (p->slot[s].names)
			text_names_settle(&p->slot[s].name, p->slot[s].width, p->st->ascii);
}

/* The name in the cell as its column shows it. */
static void shorten_name(struct table_page *p, const struct view_row *r, size_t s)
{
	struct buf name = BUF_INIT;

	if (!p->slot[s].names || r->folded || text_width(buf_str(&p->cell)) <= p->slot[s].width ||
	    is_address(buf_str(&p->cell) + p->indent))
		return;
	buf_puts(&name,
		 text_names_get(&p->slot[s].name, buf_str(&p->cell) + p->indent, indent_width(p)));
	p->cell.len = p->indent;
	buf_puts(&p->cell, buf_str(&name));
	p->cell.failed |= name.failed;
	buf_free(&name);
}

static void free_names(struct table_page *p)
{
	for (size_t s = 0; s < p->n_slots; s++)
		text_names_free(&p->slot[s].name, p->out);
}

static void measure(struct table_page *p, const struct view_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		for (size_t s = 0; s < p->n_slots; s++) {
			size_t width;

			fill_cell(p, t, &t->row[i], s);
			add_name(p, &t->row[i], s);
			width = text_width(buf_str(&p->cell));
			if (width > p->slot[s].width && !runs_over(p, &t->row[i], s))
				p->slot[s].width = width > 4096 ? 4096 : (unsigned)width;
		}
	if (!p->st->width)
		return;
	shrink(p, true, 28);
	shrink(p, false, 14);
	shrink(p, true, NARROWEST + 4);
	shrink(p, false, NARROWEST);
	shrink(p, true, NARROWEST + 2);
	shrink(p, false, 6);
	shrink(p, true, 4);
	settle_names(p);
}

/* ---- lines -------------------------------------------------------------------------------------
 */

/* A line of text, cut to the page. */
static void put_line(struct table_page *p, const char *text, enum ink ink)
{
	buf_putc(p->out, ' ');
	style_ink(p->out, p->st, ink);
	if (p->st->width > 2 && text_width(text) > p->st->width - 1)
		text_put_fit(p->out, text, p->st->width - 1, TEXT_LEFT, false, p->st->ascii);
	else
		buf_puts(p->out, text);
	buf_trim(p->out);
	if (ink != INK_PLAIN)
		style_ink(p->out, p->st, INK_PLAIN);
	buf_putc(p->out, '\n');
}

static void put_slot(struct table_page *p, const char *text, size_t s)
{
	const struct slot *slot = &p->slot[s];
	const struct column *c = &column_table[slot->id];
	bool last = s + 1 == p->n_slots, fits = text_width(text) <= slot->width;
	bool end = c->flags & C_KEEP_END;
	size_t width = slot->width, digits;

	if (s)
		buf_fill(p->out, ' ', gap(slot));
	if (last && c->align == TEXT_LEFT && fits) {
		buf_puts(p->out, text);
		return;
	}
	if (!fits && is_address(text)) {
		end = true;
		text += 2 + strspn(text + 2, "0");
		text -= *text == '\0'; /* 0x0 */
		digits = strlen(text);
		if (digits + 2 <= width) {
			buf_puts(p->out, "0x");
			width -= 2;
		}
	}
	text_put_fit(p->out, text, width, c->align, end, p->st->ascii);
}

static void put_name(struct table_page *p, const struct view_row *r, size_t s)
{
	shorten_name(p, r, s);
	put_slot(p, buf_str(&p->cell), s);
}

/* What a fold is called begins further left, over cells that are empty, where its column is
 * narrow. */
static void put_fold(struct table_page *p, size_t s)
{
	size_t need = text_width(buf_str(&p->cell)), width = p->slot[s].width;
	struct buf *b = p->out;

	buf_fill(b, ' ', gap(&p->slot[s]));
	for (; need > width && b->len > 1 && b->s[b->len - 2] == ' '; width++)
		b->s[--b->len] = '\0';
	if (s + 1 == p->n_slots)
		buf_puts(b, buf_str(&p->cell));
	else
		text_put_fit(b, buf_str(&p->cell), width, TEXT_LEFT, false, p->st->ascii);
}

static void put_header(struct table_page *p, const struct view_table *t)
{
	size_t per = 0;

	if (t->n_events > 1) {
		for (size_t s = 0; s < p->n_slots; s++)
			per += column_table[p->slot[s].id].flags & COLUMN_WEIGHT &&
			       !p->slot[s].event;
		buf_putc(p->out, ' ');
		for (size_t s = 0; s < per * t->n_events; s += per) {
			size_t width = 0;

			for (size_t k = s; k < s + per; k++)
				width += p->slot[k].width + (k > s ? gap(&p->slot[k]) : 0);
			buf_reset(&p->cell);
			text_put_safe(&p->cell, p->v->source.event[t->event[p->slot[s].event]].name,
				      true);
			text_put_fit(p->out, buf_str(&p->cell), width, TEXT_LEFT, false,
				     p->st->ascii);
			buf_fill(p->out, ' ', 2);
		}
		buf_end_line(p->out);
	}
	style_ink(p->out, p->st, INK_BOLD);
	buf_putc(p->out, ' ');
	for (size_t s = 0; s < p->n_slots; s++)
		put_slot(p, column_table[p->slot[s].id].show.head, s);
	buf_trim(p->out);
	style_ink(p->out, p->st, INK_PLAIN);
	buf_putc(p->out, '\n');
}

static enum ink row_ink(const struct table_page *p, const struct view_table *t,
			const struct view_row *r)
{
	const struct tally *w = p->v->opts.shape == VIEW_CALLERS ? r->total : r->self;
	double all = (double)t->sum[0]->selected.period;
	double share = all > 0 ? (double)w->period / all : 0;

	if (r->folded)
		return INK_DIM;
	return share >= HOT ? INK_HOT : share >= WARM ? INK_WARM : INK_PLAIN;
}

static void put_row(struct table_page *p, const struct view_table *t, const struct view_row *r)
{
	enum ink ink = row_ink(p, t, r);

	buf_putc(p->out, ' ');
	if (ink != INK_PLAIN)
		style_ink(p->out, p->st, ink);
	for (size_t s = 0; s < p->n_slots; s++) {
		fill_cell(p, t, r, s);
		if (s && says_fold(p, r, s) && !is_tree(p) &&
		    text_width(buf_str(&p->cell)) > p->slot[s].width)
			put_fold(p, s);
		else
			put_name(p, r, s);
	}
	if (says_fold(p, r, p->n_slots)) {
		buf_puts(p->out, "  ");
		rows_fold_name(p->out, r);
	}
	buf_trim(p->out);
	if (ink != INK_PLAIN)
		style_ink(p->out, p->st, INK_PLAIN);
	buf_putc(p->out, '\n');
}

static void put_facts(struct table_page *p, const struct fact *f, size_t n, const char *of)
{
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		buf_reset(&line);
		buf_printf(&line, "%-15s %s", f[i].label, f[i].text);
		if (of)
			buf_printf(&line, " (%s)", of);
		put_line(p, buf_str(&line), f[i].bad ? INK_WARM : INK_PLAIN);
	}
	p->out->failed |= line.failed;
	buf_free(&line);
}

static void put_table_facts(struct table_page *p, const struct view_table *t)
{
	struct fact f[FACTS_MAX];

	for (size_t e = 0; e < t->n_events; e++) {
		struct buf name = BUF_INIT;

		text_put_safe(&name, p->v->source.event[t->event[e]].name, p->st->ascii);
		put_facts(p, f, facts_of_event(p->v, t, e, f),
			  t->n_events > 1 ? buf_str(&name) : NULL);
		buf_free(&name);
	}
}

static int put_table(struct table_page *p, const struct view_table *t, struct err *err)
{
	struct buf line = BUF_INIT;

	for (size_t e = 0; e < t->n_events; e++) {
		buf_reset(&line);
		fact_title(&line, p->v, t, e);
		put_line(p, buf_str(&line), INK_PLAIN);
	}
	buf_free(&line);
	if (!t->n_rows)
		return 0;
	buf_putc(p->out, '\n');
	if (make_slots(p, t, err))
		return -1;
	measure(p, t);
	put_header(p, t);
	for (size_t i = 0; i < t->n_rows; i++)
		put_row(p, t, &t->row[i]);
	free_names(p);
	buf_putc(p->out, '\n');
	put_table_facts(p, t);
	return 0;
}

static void put_notes(struct table_page *p)
{
	struct fact f[FACTS_MAX];
	struct buf line = BUF_INIT;

	put_facts(p, f, source_facts(&p->v->source, f), NULL);
	put_facts(p, f, facts_of_chains(p->v, f), NULL);
	for (size_t i = 0; i < p->v->source.n_notes; i++) {
		buf_reset(&line);
		text_put_safe(&line, p->v->source.notes[i], p->st->ascii);
		style_ink(p->out, p->st, INK_WARM);
		buf_printf(p->out, " %-*s", NOTE - 1, "note");
		/* never cut: it is about the truth of the rest */
		text_put_wrapped(p->out, buf_str(&line), NOTE, p->st->width);
		style_ink(p->out, p->st, INK_PLAIN);
		buf_putc(p->out, '\n');
	}
	p->out->failed |= line.failed;
	buf_free(&line);
}

/* What `run` counted beside the samples; always of the whole run. */
static void put_tree(struct table_page *p)
{
	const struct pd_info *i = p->v->source.info;
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct tree_saved t;

	if (!i || !i->tree)
		return;
	put_line(p, "counted beside the samples, for the whole of the program:", INK_DIM);
	if (tree_saved_read(&t, &a, i->tree, i->tree_len, &err))
		put_line(p, err.what, INK_WARM);
	else
		tree_saved_put(p->out, &t, p->st);
	buf_putc(p->out, '\n');
	arena_free(&a);
}

int rows_term(struct buf *out, const struct document *d, const struct show *o, struct err *err)
{
	const struct view *v = d->ctx;
	struct table_page *p = o->table ? NULL : calloc(1, sizeof(*p));
	struct buf line = BUF_INIT;
	int ret = 0;

	if (o->table)
		return format_term(out, d, o, err);
	if (!p)
		return err_nomem(err);
	p->out = out;
	p->v = v;
	p->st = &o->style;
	source_command(&line, &v->source, o->style.ascii);
	put_line(p, buf_str(&line), INK_BOLD);
	buf_reset(&line);
	source_machine(&line, &v->source, o->style.ascii);
	put_line(p, buf_str(&line), INK_DIM);
	put_tree(p);
	for (size_t i = 0; !ret && i < v->n_tables; i++) {
		if (i)
			buf_putc(out, '\n');
		ret = put_table(p, &v->table[i], err);
	}
	if (!ret) {
		if (!v->n_tables)
			put_line(p, "no events, so no samples", INK_WARM);
		put_notes(p);
		if (!o->quiet)
			next_put(out, d->next, d->n_next, &o->style);
	}
	out->failed |= p->cell.failed | p->scratch.failed | line.failed;
	buf_free(&p->cell);
	buf_free(&p->scratch);
	buf_free(&line);
	free(p);
	return ret ? -1 : buf_error(out, err);
}
