/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/layout.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "show/fold.h"
#include "base/xalloc.h"

enum {
	GAP = 2,
	INDENT = 2,
	LEAST_FLEX = 8,
	LEAST_OTHER = 6, /* of texts besides the lead, if the line fits then */
	FAIR_OTHER = 12, /* ... before the lead is narrower than is good */
	GOOD_OTHER = 20, /* of texts besides the lead: columns that may be dropped give way */
	GOOD_FLEX = 24,
	GOOD_TREE = 36,
	WIDTH_MAX = 4096,
	WIDTH_MAX_SCREEN = 400,
};
#define HOT  0.10
#define WARM 0.02

void layout_open(struct layout *l, const struct table *t, bool ascii)
{
	memset(l, 0, sizeof(*l));
	l->t = t;
	l->ascii = ascii;
	l->names = xcalloc(LAYOUT_COLUMNS, sizeof(*l->names));
}

void layout_close(struct layout *l, struct buf *out)
{
	for (size_t i = 0; l->names && i < LAYOUT_COLUMNS; i++)
		folds_free(&l->names[i], out);
	free(l->names);
	l->names = NULL;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool is_text_column(const struct table_column *c)
{
	return c->kind == T_TEXT || c->kind == T_LIST;
}

/* Bars and the like, which are wrong if they are cut. */
static bool is_picture(const struct table_column *c)
{
	return c->kind == T_TEXT && c->least && c->flags & C_PEOPLE && !(c->flags & C_FLEX);
}

static bool may_be_cut(const struct layout *l, const struct table_column *c)
{
	return l->screen ? is_text_column(c) && !is_picture(c) : c->flags & C_FLEX;
}

size_t layout_lead(const struct table *t)
{
	size_t n, text = SIZE_MAX;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		if (!is_text_column(&c[i]) || c[i].flags & C_DATA)
			continue;
		if (c[i].flags & C_FLEX)
			return i;
		text = text == SIZE_MAX ? i : text;
	}
	return text;
}

unsigned layout_not_flags(const struct layout *l)
{
	return l->all ? C_PEOPLE : C_DATA;
}

/* A line above each run of rows, of which a screen has none. */
static bool is_heading(const struct table_column *c)
{
	return (c->flags & (C_PEOPLE | C_GROUP)) == (C_PEOPLE | C_GROUP) && !*c->head;
}

/* On a screen, keys for programs stand in place of a heading that is made of them, and if all rows
 * are for programs: without them rows look alike. */
static bool stands(const struct layout *l, size_t i)
{
	const struct table *t = l->t;
	size_t n;
	const struct table_column *c = table_columns(t, &n);
	bool keys = t->form->flags & TABLE_DATA || t->data_only;

	if (!l->screen)
		return table_has(t, i, C_DATA | C_GROUP);
	if (l->all || (c[i].flags & (C_KEY | C_DATA)) != (C_KEY | C_DATA))
		return table_has(t, i, layout_not_flags(l)) && (l->all || !is_heading(&c[i]));
	for (size_t k = 0; k < n; k++)
		keys |= table_has(t, k, 0) && is_heading(&c[k]);
	return keys && table_has(t, i, 0);
}

static const struct table_column *layout_column_of(const struct layout *l, size_t i)
{
	size_t n;

	return &table_columns(l->t, &n)[l->on[i].column];
}

bool layout_cuts(const struct layout *l, size_t column, const char *text)
{
	size_t n, i = 0;
	const struct table_column *c = &table_columns(l->t, &n)[column];

	if (!is_text_column(c) || is_picture(c) || !stands(l, column))
		return false;
	while (i < l->n && l->on[i].column != column)
		i++;
	return text_width(text) > (i < l->n ? l->on[i].width : 0);
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* The lines in front of a row, whose siblings above were drawn before. */
static void put_layout_branch(struct layout *l, struct buf *out, const struct table_cell *x)
{
	static const char *const glyphs[2][4] = {
		{ "\xe2\x94\x82 ", "\xe2\x94\x9c ", "\xe2\x94\x94 ", "  " },
		{ "| ", "|-", "`-", "  " },
	};
	const char *const *g = glyphs[l->ascii];
	unsigned n = x->indent;

	for (unsigned i = 1; i < n && i < LAYOUT_DEPTH; i++)
		buf_puts(out, l->more[i] ? g[0] : g[3]);
	if (n > LAYOUT_DEPTH) {
		buf_printf(out, "+%u ", n - LAYOUT_DEPTH);
	} else if (n && x->branch == BRANCH_ONLY) {
		buf_puts(out, l->more[n] ? g[0] : g[3]);
	} else if (n) {
		l->more[n] = x->branch == BRANCH_MORE;
		buf_puts(out, l->more[n] ? g[1] : g[2]);
	}
}

/* On a screen: how deep it is, and whether it can be unfolded. */
static void put_layout_place(const struct layout *l, struct buf *out, const struct layout_place *p,
			     size_t room)
{
	size_t depth = p->depth < LAYOUT_DEPTH ? p->depth : LAYOUT_DEPTH, indent = depth * INDENT;
	char n[16] = "";

	if (p->depth > LAYOUT_DEPTH)
		(void)snprintf(n, sizeof(n), "+%u", p->depth - LAYOUT_DEPTH);
	indent = indent + 2 < room ? indent : room > 2 ? room - 2 : 0;
	buf_fill(out, ' ', indent > strlen(n) ? indent - strlen(n) : 0);
	if (indent >= strlen(n))
		buf_puts(out, n);
	if (room >= 2)
		buf_puts(out, !p->opens	 ? "  "
			      : l->ascii ? (p->open ? "- " : "+ ")
			      : p->open	 ? "\xe2\x96\xbe "
					 : "\xe2\x96\xb8 ");
}

/* The indent in front of a text, in `room` columns at most. */
static void put_indent(struct layout *l, struct buf *out, const struct table_column *c,
		       const struct table_cell *x, const struct layout_place *place, size_t room)
{
	size_t n, indent = (size_t)x->indent * INDENT;

	if (place && l->tree && c == &table_columns(l->t, &n)[layout_lead(l->t)])
		put_layout_place(l, out, place, room);
	else if (!l->tree && x->branch != BRANCH_NONE && !l->screen)
		put_layout_branch(l, out, x);
	else if (!l->tree)
		buf_fill(out, ' ', indent < room ? indent : room);
}

/* ---- widths seen ----------------------------------------------------------------------------- */

static unsigned lesser(unsigned a, size_t b)
{
	return a < b ? a : (unsigned)b;
}

static void layout_widen(const struct layout *l, unsigned *width, size_t to)
{
	if (to > *width)
		*width = lesser(l->screen ? WIDTH_MAX_SCREEN : WIDTH_MAX, to);
}

/* The cell's text, safe; of a name without its suffix, which is not cut off. */
static void put_layout_word(const struct layout *l, struct buf *out, const struct table_cell *x,
			    bool name)
{
	struct buf raw = BUF_INIT;

	if (name && cell_has(x) && x->tail)
		buf_puts(&raw, x->text);
	else
		cell_put(&raw, x);
	text_put_safe(out, buf_str(&raw), l->ascii);
	out->failed |= raw.failed;
	buf_free(&raw);
}

static size_t layout_tail_of(const struct table_cell *x)
{
	return cell_has(x) && x->tail ? strlen(x->tail) : 0;
}

/* Returns true if its tail is seen past the end of its column. */
static bool spills(const struct layout *l, size_t column, const struct table_cell *x)
{
	size_t n;

	(void)table_columns(l->t, &n);
	for (size_t i = column + 1; x->spills && i < n; i++)
		if (stands(l, i))
			return false;
	return x->spills;
}

static void see_cell(struct layout *l, size_t i, const struct table_column *c,
		     const struct table_cell *x, const struct layout_place *place)
{
	struct layout_seen *seen = &l->seen[i];
	struct buf word = BUF_INIT;
	bool past = spills(l, i, x);
	size_t indent;
	uint64_t hash;

	if (is_text_column(c))
		put_indent(l, &word, c, x, place, SIZE_MAX);
	indent = text_width(buf_str(&word));
	buf_reset(&word);
	put_layout_word(l, &word, x, past);
	layout_widen(l, &seen->width, text_width(buf_str(&word)) + indent);
	if (past)
		layout_widen(l, &seen->tail, layout_tail_of(x));
	hash = l->screen ? hash_bytes(buf_str(&word), word.len) : 0;
	seen->differs |= seen->any && hash != seen->hash;
	seen->any = true;
	seen->hash = hash;
	seen->has |= cell_has(x) || (x->says && *x->says);
	if (l->names && table_names_things(c)) {
		buf_reset(&word);
		put_layout_word(l, &word, x, true);
		folds_add(&l->names[i], buf_str(&word), indent + layout_tail_of(x));
	}
	if (c->flags & C_ERROR) {
		buf_reset(&word);
		cell_put_error(&word, x);
		layout_widen(l, &seen->error, word.len);
	}
	buf_free(&word);
}

void layout_see(struct layout *l, const struct table_row *r, const struct layout_place *place)
{
	size_t n;
	const struct table_column *c = table_columns(l->t, &n);
	struct buf scratch = BUF_INIT;
	struct table_cell x;

	for (size_t i = 0; i < n && i < LAYOUT_COLUMNS; i++) {
		if (!stands(l, i))
			continue;
		table_cell(&x, l->t, &c[i], r, &scratch);
		see_cell(l, i, &c[i], &x, place);
	}
	buf_free(&scratch);
}

/* ---- widths ---------------------------------------------------------------------------------- */

static unsigned head_lines(const char *head)
{
	unsigned n = 1;

	for (; *head; head++)
		n += *head == '\n';
	return n < LAYOUT_HEADS ? n : LAYOUT_HEADS;
}

static size_t head_width(const char *head)
{
	size_t width = 0;

	for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
		if (strcspn(head, "\n") > width)
			width = strcspn(head, "\n");
	return width;
}

static unsigned columns_taken(const struct layout_column *x)
{
	return x->width + (x->error ? 1 + x->error : 0) + GAP;
}

static bool is_lead(const struct layout *l, size_t i)
{
	return l->on[i].column == layout_lead(l->t);
}

/* Returns the width of a line whose texts have no more than they need: the lead `lead`, others
 * `other`. */
static unsigned line_width(const struct layout *l, unsigned lead, unsigned other)
{
	unsigned used = 1;

	for (size_t i = 0; i < l->n; i++) {
		struct layout_column x = l->on[i];

		if (may_be_cut(l, layout_column_of(l, i)))
			x.width = lesser(x.width, is_lead(l, i) ? lead : other);
		used += columns_taken(&x);
	}
	return l->n ? used - GAP : used;
}

unsigned layout_width(const struct layout *l)
{
	return line_width(l, UINT_MAX, UINT_MAX);
}

static void layout_leave_out(struct layout *l, size_t i)
{
	memmove(&l->on[i], &l->on[i + 1], (l->n - i - 1) * sizeof(*l->on));
	l->n--;
	l->out++;
}

enum { LEAD = 1, OTHERS = 2 };

/* Takes from the widest text of these until the line fits. */
static void shrink(struct layout *l, unsigned width, unsigned which, unsigned to)
{
	for (unsigned used = layout_width(l); used > width; used--) {
		struct layout_column *widest = NULL;

		for (size_t i = 0; i < l->n; i++)
			if (may_be_cut(l, layout_column_of(l, i)) && l->on[i].width > to &&
			    l->on[i].width > l->seen[l->on[i].column].tail &&
			    which & (is_lead(l, i) ? LEAD : OTHERS) &&
			    (!widest || l->on[i].width > widest->width))
				widest = &l->on[i];
		if (!widest)
			return;
		widest->width--;
	}
}

/* Returns true if a column stays in this round. On a screen those go first that are the same in all
 * rows, then those that may be dropped, then those that neither name a row nor have its share. */
static bool is_worth(const struct layout *l, size_t i, unsigned round)
{
	const struct table_column *c = layout_column_of(l, i);

	if (is_lead(l, i) || is_picture(c))
		return true;
	if (round == 0)
		return l->seen[l->on[i].column].differs || !is_text_column(c);
	return round == 1 ? !(c->flags & C_DROP) : c->flags & (C_KEY | C_FLEX | C_HEAT);
}

static void fit_screen(struct layout *l, unsigned width)
{
	unsigned lead = l->tree ? GOOD_TREE : GOOD_FLEX;

	if (l->left) {
		shrink(l, width, LEAD, GOOD_FLEX);
		shrink(l, width, OTHERS, GOOD_FLEX);
		return;
	}
	for (unsigned round = 0; round < 3; round++) {
		unsigned other = round == 1 ? GOOD_OTHER : LEAST_FLEX;

		for (size_t i = l->n; i-- > 0 && line_width(l, lead, other) > width;)
			if (!is_worth(l, i, round))
				layout_leave_out(l, i);
	}
	shrink(l, width, OTHERS, GOOD_FLEX);
	shrink(l, width, LEAD, lead);
	shrink(l, width, OTHERS, LEAST_FLEX);
	shrink(l, width, LEAD, LEAST_FLEX);
}

static void fit_terminal(struct layout *l, unsigned width)
{
	for (size_t i = l->n; i-- > 0 && line_width(l, GOOD_FLEX, GOOD_FLEX) > width;)
		if (layout_column_of(l, i)->flags & C_DROP)
			layout_leave_out(l, i);
	shrink(l, width, LEAD | OTHERS, GOOD_FLEX);
	shrink(l, width, OTHERS, FAIR_OTHER);
	shrink(l, width, LEAD | OTHERS, LEAST_FLEX);
	if (line_width(l, UINT_MAX, LEAST_OTHER) <= width)
		shrink(l, width, OTHERS, LEAST_OTHER);
}

/* Sets the begin of columns. On a screen, columns without room are left out. */
static void place_columns(struct layout *l, unsigned width)
{
	unsigned at = 1;

	for (size_t i = 0; i < l->n; i++) {
		struct layout_column *x = &l->on[i];
		unsigned room = at < width ? width - at : 0;

		x->at = at;
		if (l->screen) {
			if (x->width > room && may_be_cut(l, layout_column_of(l, i)) &&
			    room >= LEAST_FLEX)
				x->width = room;
			if (x->width + (x->error ? 1 + x->error : 0) > room) {
				l->out += l->n - i;
				l->n = i;
				return;
			}
		}
		at += columns_taken(x);
	}
}

void layout_fit(struct layout *l, unsigned width)
{
	size_t n, skip = l->left;
	const struct table_column *c = table_columns(l->t, &n);

	l->n = 0;
	l->out = l->left;
	for (size_t i = 0; i < n && i < LAYOUT_COLUMNS; i++) {
		const struct layout_seen *seen = &l->seen[i];
		struct layout_column *x = &l->on[l->n];

		if (!stands(l, i) || (c[i].flags & C_SPARSE && !seen->has))
			continue;
		if (skip && skip--)
			continue;
		*x = (struct layout_column){ i, 0, seen->width, seen->error };
		layout_widen(l, &x->width, head_width(c[i].head));
		layout_widen(l, &x->width, c[i].least);
		if (c[i].flags & C_ERROR && c[i].least) /* "+-12.3", "+-4" */
			layout_widen(l, &x->error, c[i].kind == T_SHARE ? 6 : 3);
		l->n++;
	}
	if (l->screen)
		fit_screen(l, width);
	else if (width)
		fit_terminal(l, width);
	place_columns(l, width);
	l->heads = 1;
	l->over = false;
	for (size_t i = 0; i < l->n; i++) {
		const struct table_column *on = layout_column_of(l, i);

		if (head_lines(on->head) > l->heads)
			l->heads = head_lines(on->head);
		l->over |= on->over != NULL;
		if (l->names && table_names_things(on) && width)
			folds_settle(&l->names[l->on[i].column], l->on[i].width, l->ascii);
	}
}

/* ---- putting --------------------------------------------------------------------------------- */

void layout_over(const struct layout *l, struct buf *out)
{
	struct buf safe = BUF_INIT;

	buf_putc(out, ' ');
	for (size_t i = 0, to; i < l->n; i = to) {
		const char *over = layout_column_of(l, i)->over;
		unsigned width = 0;

		for (to = i; to < l->n && layout_column_of(l, to)->over == over; to++)
			width += columns_taken(&l->on[to]);
		buf_reset(&safe);
		text_put_safe(&safe, over ? over : "", l->ascii);
		text_put_fit(out, buf_str(&safe), width - GAP, TEXT_LEFT, false, l->ascii);
		buf_fill(out, ' ', GAP);
	}
	buf_free(&safe);
}

void layout_head(const struct layout *l, struct buf *out, size_t i, unsigned line)
{
	const struct table_column *c = layout_column_of(l, i);
	const char *head = c->head;
	unsigned above = l->heads - head_lines(head);
	struct buf word = BUF_INIT;

	for (unsigned k = above; k < line; k++)
		head += strcspn(head, "\n") + (head[strcspn(head, "\n")] != 0);
	if (line >= above)
		buf_put(&word, head, strcspn(head, "\n"));
	text_put_fit(out, buf_str(&word), l->on[i].width,
		     is_text_column(c) ? TEXT_LEFT : TEXT_RIGHT, false, l->ascii);
	if (l->on[i].error) {
		buf_putc(out, ' ');
		buf_put_left(out, line + 1 == l->heads ? "+-" : "", l->on[i].error);
	}
	out->failed |= word.failed;
	buf_free(&word);
}

/* Code without a name is called by its address, which differs from others at its end. */
static bool is_address(const char *s)
{
	return !strncmp(s, "0x", 2) && s[2] && s[2 + strspn(s + 2, "0123456789abcdef")] == '\0';
}

static void put_layout_address(const struct layout *l, struct buf *out, const char *s, size_t room)
{
	s += 2 + strspn(s + 2, "0");
	s -= *s == '\0'; /* 0x0 */
	if (strlen(s) + 2 <= room) {
		buf_puts(out, "0x");
		room -= 2;
	}
	text_put_fit(out, s, room, TEXT_LEFT, true, l->ascii);
}

/* `last`: nothing follows, so no blanks are needed behind it. */
static void put_layout_text(struct layout *l, struct buf *out, size_t i, const struct table_cell *x,
			    size_t room, size_t indent, bool last)
{
	const struct table_column *c = layout_column_of(l, i);
	size_t tail = layout_tail_of(x), name;
	struct buf word = BUF_INIT, shorter = BUF_INIT;
	const char *s;

	put_layout_word(l, &word, x, true);
	s = buf_str(&word);
	if (last && x->spills) {
		room += tail;
	} else if (tail + 3 > room) { /* no room for the name */
		buf_puts(&word, tail ? x->tail : "");
		s = buf_str(&word);
		tail = 0;
	}
	name = room - tail;
	if (text_width(s) <= name || !table_names_things(c)) {
		/* as it is, or cut at an end */
	} else if (is_address(s)) {
		put_layout_address(l, &shorter, s, name);
		s = buf_str(&shorter);
	} else if (l->names) {
		s = folds_get(&l->names[l->on[i].column], s, indent + layout_tail_of(x));
	} else {
		fold_name(&shorter, s, name, NULL, 0, l->ascii);
		s = buf_str(&shorter);
	}
	if (text_width(s) <= name && (tail || last)) {
		buf_puts(out, s);
		buf_puts(out, tail ? x->tail : "");
		if (!last)
			buf_fill(out, ' ', name - text_width(s));
	} else {
		text_put_fit(out, s, name, TEXT_LEFT, c->flags & C_KEEP_END, l->ascii);
		buf_puts(out, tail ? x->tail : "");
	}
	out->failed |= word.failed | shorter.failed;
	buf_free(&word);
	buf_free(&shorter);
}

static void put_layout_value(struct layout *l, struct buf *out, const struct style *st, size_t i,
			     const struct table_cell *x, const struct layout_place *place)
{
	const struct table_column *c = layout_column_of(l, i);
	size_t room = l->on[i].width;
	bool last = st && i + 1 == l->n;
	struct buf word = BUF_INIT;

	if (is_text_column(c)) {
		size_t indent;

		put_indent(l, &word, c, x, place, room);
		indent = text_width(buf_str(&word));
		buf_puts(out, buf_str(&word));
		if (indent < room)
			put_layout_text(l, out, i, x, room - indent, indent, last);
	} else {
		put_layout_word(l, &word, x, last && x->spills);
		text_put_fit(out, buf_str(&word), room, TEXT_RIGHT, false, l->ascii);
		if (last && x->spills)
			buf_puts(out, x->tail);
	}
	out->failed |= word.failed;
	buf_free(&word);
}

enum ink layout_cell(struct layout *l, struct buf *out, const struct style *st, size_t i,
		     const struct table_row *r, const struct layout_place *place)
{
	const struct table_column *c = layout_column_of(l, i);
	struct buf scratch = BUF_INIT, error = BUF_INIT;
	struct table_cell x;
	enum ink ink = INK_PLAIN;

	table_cell(&x, l->t, c, r, &scratch);
	if (x.dim)
		ink = INK_DIM;
	else if (c->flags & C_HEAT && cell_has(&x))
		ink = x.e.v >= HOT ? INK_HOT : x.e.v >= WARM ? INK_WARM : INK_PLAIN;
	if (st && ink != INK_PLAIN)
		style_ink(out, st, ink);
	put_layout_value(l, out, st, i, &x, place);
	if (st && ink != INK_PLAIN && !x.dim)
		style_ink(out, st, INK_PLAIN);
	if (l->on[i].error && !is_text_column(c)) {
		cell_put_error(&error, &x);
		buf_putc(out, ' ');
		buf_put_left(out, buf_str(&error), l->on[i].error);
	}
	if (st && x.dim)
		style_ink(out, st, INK_PLAIN);
	out->failed |= scratch.failed | error.failed;
	buf_free(&scratch);
	buf_free(&error);
	return ink;
}
