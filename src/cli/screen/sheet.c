/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/screen/sheet.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"
#include "base/text_short.h"

enum {
	GAP = 2,
	INDENT = 2,
	INDENT_MAX = 16,
	LEAST_FLEX = 8,
	GOOD_OTHER = 20, /* of texts besides the lead: columns that may be dropped give way */
	GOOD_FLEX = 24,
	GOOD_TREE = 36,
	NAME_MAX_SEEN = 400
};
#define HOT  0.10
#define WARM 0.02

static bool is_text(const struct table_column *c)
{
	return c->kind == T_TEXT || c->kind == T_LIST;
}

size_t sheet_find(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key))
			return i;
	return SIZE_MAX;
}

size_t sheet_lead(const struct table *t)
{
	size_t n, text = SIZE_MAX;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		if (!is_text(&c[i]) || c[i].flags & C_DATA)
			continue;
		if (c[i].flags & C_FLEX)
			return i;
		text = text == SIZE_MAX ? i : text;
	}
	return text;
}

unsigned sheet_not_flags(const struct sheet *s)
{
	return s->all ? C_PEOPLE : C_DATA;
}

/* A line above each run of rows, of which there are none here. */
static bool is_heading(const struct table_column *c)
{
	return (c->flags & (C_PEOPLE | C_GROUP)) == (C_PEOPLE | C_GROUP) && !*c->head;
}

/* Keys for programs stand in place of a heading that is made of them, and where all rows are for
 * programs: without them rows look alike. */
static bool stands(const struct sheet *s, const struct table *t, size_t i)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	bool keys = t->form->flags & TABLE_DATA || t->data_only;

	if (s->all || (c[i].flags & (C_KEY | C_DATA)) != (C_KEY | C_DATA))
		return table_has(t, i, sheet_not_flags(s)) && (s->all || !is_heading(&c[i]));
	for (size_t k = 0; k < n; k++)
		keys |= table_has(t, k, 0) && is_heading(&c[k]);
	return keys && table_has(t, i, 0);
}

/* Bars and the like, which are wrong if they are cut. */
static bool is_picture(const struct table_column *c)
{
	return c->kind == T_TEXT && c->least && c->flags & C_PEOPLE && !(c->flags & C_FLEX);
}

bool sheet_cuts(const struct sheet *s, const struct table *t, size_t column, const char *text)
{
	size_t n, i = 0;
	const struct table_column *c = &table_columns(t, &n)[column];

	if (!is_text(c) || is_picture(c) || !stands(s, t, column))
		return false;
	while (i < s->n && s->on[i].column != column)
		i++;
	return text_width(text) > (i < s->n ? s->on[i].width : 0);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static unsigned indent_of(const struct pager *p, size_t line)
{
	unsigned depth = pager_place(p, line).depth;

	return (depth < INDENT_MAX ? depth : INDENT_MAX) * INDENT + 2;
}

static unsigned least(unsigned a, size_t b)
{
	return a < b ? a : (unsigned)b;
}

static void widen(unsigned *width, size_t to)
{
	if (to > *width)
		*width = least(NAME_MAX_SEEN, to);
}

static void put_word(struct buf *out, const struct table_cell *x, bool ascii)
{
	struct buf raw = BUF_INIT;

	cell_put(&raw, x);
	text_put_safe(out, buf_str(&raw), ascii);
	out->failed |= raw.failed;
	buf_free(&raw);
}

static void measure_alike(struct sheet *s, size_t i, const char *word, size_t len)
{
	uint64_t hash = hash_bytes(word, len);

	s->seen[i].differs |= s->seen[i].any && hash != s->seen[i].hash;
	s->seen[i].any = true;
	s->seen[i].hash = hash;
}

static void measure_row(struct sheet *s, const struct pager *p, size_t line,
			const struct table_row *r, struct buf *scratch, struct buf *word)
{
	const struct table *t = pager_table(p);
	size_t n, lead = pager_is_tree(p) ? sheet_lead(t) : SIZE_MAX;
	const struct table_column *c = table_columns(t, &n);
	struct table_cell x;

	for (size_t i = 0; i < n && i < SHEET_COLUMNS; i++) {
		if (!stands(s, t, i))
			continue;
		table_cell(&x, t, &c[i], r, scratch);
		buf_reset(word);
		put_word(word, &x, s->ascii);
		widen(&s->seen[i].width,
		      text_width(buf_str(word)) + (i == lead	      ? indent_of(p, line)
						   : pager_is_tree(p) ? 0
								      : x.indent * INDENT));
		measure_alike(s, i, buf_str(word), word->len);
		s->seen[i].has |= cell_has(&x) || (x.says && *x.says);
		if (!(c[i].flags & C_ERROR))
			continue;
		buf_reset(word);
		cell_put_error(word, &x);
		widen(&s->seen[i].error, word->len);
	}
}

int sheet_measure(struct sheet *s, struct pager *p, size_t top, size_t lines, struct err *err)
{
	struct buf scratch = BUF_INIT, word = BUF_INIT;
	struct table_row r = { 0 };
	int rc = 1;

	for (size_t i = top; i < top + lines && rc > 0; i++) {
		rc = pager_row(p, i, &r, err);
		if (rc > 0)
			measure_row(s, p, i, &r, &scratch, &word);
	}
	if (rc >= 0 && (scratch.failed || word.failed))
		rc = err_nomem(err);
	buf_free(&scratch);
	buf_free(&word);
	return rc < 0 ? -1 : 0;
}

/* ---- arranging ------------------------------------------------------------------------------- */

static unsigned head_lines(const char *head)
{
	unsigned n = 1;

	for (; *head; head++)
		n += *head == '\n';
	return n < SHEET_HEADS ? n : SHEET_HEADS;
}

static size_t head_width(const char *head)
{
	size_t width = 0;

	for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
		if (strcspn(head, "\n") > width)
			width = strcspn(head, "\n");
	return width;
}

static const struct table_column *column_of(const struct sheet *s, const struct table *t, size_t i)
{
	size_t n;

	return &table_columns(t, &n)[s->on[i].column];
}

static unsigned taken(const struct sheet_column *x)
{
	return x->width + (x->error ? 1 + x->error : 0) + GAP;
}

/* The width of a line whose texts have no more than they need: the lead `lead`, others `least`. */
static unsigned line_width(const struct sheet *s, const struct table *t, unsigned lead,
			   unsigned other)
{
	unsigned used = 1;

	for (size_t i = 0; i < s->n; i++) {
		struct sheet_column x = s->on[i];

		if (is_text(column_of(s, t, i)) && !is_picture(column_of(s, t, i)))
			x.width = least(x.width, x.column == sheet_lead(t) ? lead : other);
		used += taken(&x);
	}
	return s->n ? used - GAP : used;
}

static void leave_out(struct sheet *s, size_t i)
{
	memmove(&s->on[i], &s->on[i + 1], (s->n - i - 1) * sizeof(*s->on));
	s->n--;
	s->out++;
}

/* Takes from the widest text, of the lead or of the others, until it all fits. */
static void shrink(struct sheet *s, const struct table *t, unsigned width, bool lead, unsigned to)
{
	for (unsigned used = line_width(s, t, UINT_MAX, UINT_MAX); used > width; used--) {
		struct sheet_column *widest = NULL;

		for (size_t i = 0; i < s->n; i++)
			if (is_text(column_of(s, t, i)) && !is_picture(column_of(s, t, i)) &&
			    s->on[i].width > to && (s->on[i].column == sheet_lead(t)) == lead &&
			    (!widest || s->on[i].width > widest->width))
				widest = &s->on[i];
		if (!widest)
			return;
		widest->width--;
	}
}

/* Least worth their room: what is the same in all rows, what may be dropped, what neither names a
 * row nor has its share. */
static bool is_worth(const struct sheet *s, const struct table *t, size_t i, unsigned round)
{
	const struct table_column *c = column_of(s, t, i);

	if (s->on[i].column == sheet_lead(t))
		return true;
	if (is_picture(c))
		return true;
	if (round == 0)
		return s->seen[s->on[i].column].differs || !is_text(c);
	return round == 1 ? !(c->flags & C_DROP) : c->flags & (C_KEY | C_FLEX | C_HEAT);
}

static void drop(struct sheet *s, const struct table *t, unsigned width, bool tree)
{
	unsigned lead = tree ? GOOD_TREE : GOOD_FLEX;

	for (unsigned round = 0; round < 3; round++) {
		unsigned other = round == 1 ? GOOD_OTHER : LEAST_FLEX;

		for (size_t i = s->n; i-- > 0 && line_width(s, t, lead, other) > width;)
			if (!is_worth(s, t, i, round))
				leave_out(s, i);
	}
	shrink(s, t, width, false, GOOD_FLEX);
	shrink(s, t, width, true, lead);
	shrink(s, t, width, false, LEAST_FLEX);
	shrink(s, t, width, true, LEAST_FLEX);
}

static void place(struct sheet *s, const struct table *t, unsigned width)
{
	unsigned at = 1;

	for (size_t i = 0; i < s->n; i++) {
		struct sheet_column *x = &s->on[i];
		unsigned room = at < width ? width - at : 0;

		x->at = at;
		if (x->width > room && is_text(column_of(s, t, i)) &&
		    !is_picture(column_of(s, t, i)) && room >= LEAST_FLEX)
			x->width = room;
		if (x->width + (x->error ? 1 + x->error : 0) > room) {
			s->out += s->n - i;
			s->n = i;
			return;
		}
		at += taken(x);
	}
}

void sheet_arrange(struct sheet *s, const struct pager *p, unsigned width)
{
	const struct table *t = pager_table(p);
	size_t n, skip = s->left;
	const struct table_column *c = table_columns(t, &n);

	s->n = 0;
	s->out = s->left;
	for (size_t i = 0; i < n && i < SHEET_COLUMNS; i++) {
		struct sheet_column *x = &s->on[s->n];

		if (!stands(s, t, i) || (c[i].flags & C_SPARSE && !s->seen[i].has))
			continue;
		if (skip && skip--)
			continue;
		*x = (struct sheet_column){ i, 0, s->seen[i].width, s->seen[i].error };
		widen(&x->width, head_width(c[i].head));
		widen(&x->width, c[i].least);
		s->n++;
	}
	if (s->left) {
		shrink(s, t, width, true, GOOD_FLEX);
		shrink(s, t, width, false, GOOD_FLEX);
	} else {
		drop(s, t, width, pager_is_tree(p));
	}
	place(s, t, width);
	s->heads = 1;
	for (size_t i = 0; i < s->n; i++)
		if (head_lines(column_of(s, t, i)->head) > s->heads)
			s->heads = head_lines(column_of(s, t, i)->head);
}

/* ---- putting --------------------------------------------------------------------------------- */

void sheet_head(const struct sheet *s, struct buf *out, const struct table *t, size_t i,
		unsigned line)
{
	const struct table_column *c = column_of(s, t, i);
	const char *head = c->head;
	unsigned above = s->heads - head_lines(head);
	struct buf word = BUF_INIT;

	for (unsigned k = above; k < line; k++)
		head += strcspn(head, "\n") + (head[strcspn(head, "\n")] != 0);
	if (line >= above)
		buf_put(&word, head, strcspn(head, "\n"));
	text_put_fit(out, buf_str(&word), s->on[i].width, is_text(c) ? TEXT_LEFT : TEXT_RIGHT,
		     false, s->ascii);
	if (s->on[i].error && line + 1 == s->heads)
		buf_puts(out, " +-");
	out->failed |= word.failed;
	buf_free(&word);
}

static void put_tree(const struct sheet *s, struct buf *out, const struct pager *p, size_t line,
		     unsigned *room)
{
	struct pager_place x = pager_place(p, line);
	unsigned indent = indent_of(p, line) - 2;
	char n[16] = "";

	if (x.depth > INDENT_MAX)
		(void)snprintf(n, sizeof(n), "+%u", x.depth - INDENT_MAX);
	indent = indent + 2 < *room ? indent : *room > 2 ? *room - 2 : 0;
	buf_fill(out, ' ', indent > strlen(n) ? indent - strlen(n) : 0);
	if (indent >= strlen(n))
		buf_puts(out, n);
	if (*room >= 2)
		buf_puts(out, !x.opens	 ? "  "
			      : s->ascii ? (x.open ? "- " : "+ ")
			      : x.open	 ? "\xe2\x96\xbe "
					 : "\xe2\x96\xb8 ");
	*room -= least(*room, indent + 2);
}

static void put_text(const struct sheet *s, struct buf *out, const struct table_column *c,
		     const struct table_cell *x, unsigned room)
{
	struct buf word = BUF_INIT, shorter = BUF_INIT;
	const struct text_keep none = { 0, 0 };

	put_word(&word, x, s->ascii);
	if ((c->flags & (C_FLEX | C_KEEP_END | C_CUT)) == C_FLEX &&
	    text_width(buf_str(&word)) > room) {
		text_short(&shorter, buf_str(&word), room, none, s->ascii);
		text_put_fit(out, buf_str(&shorter), room, TEXT_LEFT, false, s->ascii);
	} else {
		text_put_fit(out, buf_str(&word), room, TEXT_LEFT, c->flags & C_KEEP_END, s->ascii);
	}
	out->failed |= word.failed | shorter.failed;
	buf_free(&word);
	buf_free(&shorter);
}

static void put_number(const struct sheet *s, struct buf *out, const struct table_cell *x,
		       const struct sheet_column *on)
{
	struct buf word = BUF_INIT;

	put_word(&word, x, s->ascii);
	text_put_fit(out, buf_str(&word), on->width, x->kind == T_TEXT ? TEXT_LEFT : TEXT_RIGHT,
		     false, s->ascii);
	if (on->error) {
		buf_reset(&word);
		cell_put_error(&word, x);
		buf_putc(out, ' ');
		text_put_fit(out, buf_str(&word), on->error, TEXT_LEFT, false, s->ascii);
	}
	out->failed |= word.failed;
	buf_free(&word);
}

enum ink sheet_cell(const struct sheet *s, struct buf *out, const struct pager *p, size_t i,
		    size_t line, const struct table_row *r)
{
	const struct table *t = pager_table(p);
	const struct table_column *c = column_of(s, t, i);
	struct buf scratch = BUF_INIT;
	struct table_cell x;
	unsigned room = s->on[i].width;

	table_cell(&x, t, c, r, &scratch);
	if (!is_text(c)) {
		put_number(s, out, &x, &s->on[i]);
	} else {
		if (pager_is_tree(p) && s->on[i].column == sheet_lead(t)) {
			put_tree(s, out, p, line, &room);
		} else if (!pager_is_tree(p) && x.indent) {
			unsigned indent = least(x.indent * INDENT, room);

			buf_fill(out, ' ', indent);
			room -= indent;
		}
		put_text(s, out, c, &x, room);
	}
	out->failed |= scratch.failed;
	buf_free(&scratch);
	if (x.dim)
		return INK_DIM;
	if (!(c->flags & C_HEAT) || !cell_has(&x))
		return INK_PLAIN;
	return x.e.v >= HOT ? INK_HOT : x.e.v >= WARM ? INK_WARM : INK_PLAIN;
}
