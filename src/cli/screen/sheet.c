/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/screen/sheet.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/screen/screen.h"

enum { FIRST = 100 }; /* rows are measured beside those in sight */

size_t sheet_find(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key))
			return i;
	return SIZE_MAX;
}

void sheet_open(struct sheet *s)
{
	s->pager = pager_open(&s->table);
	s->l.t = &s->table;
	s->l.screen = true;
	s->l.tree = pager_is_tree(s->pager);
	if (s->sort != PAGER_UNSORTED)
		pager_sort(s->pager, s->sort, s->reverse);
}

void sheet_close(struct sheet *s)
{
	pager_close(s->pager);
	s->pager = NULL;
}

static void forget_widths(struct sheet *s, bool all)
{
	s->l = (struct layout){
		.t = &s->table, .ascii = s->l.ascii, .screen = true, .tree = s->l.tree, .all = all
	};
}

void sheet_reset(struct sheet *s)
{
	sheet_sort(s, PAGER_UNSORTED, false);
	forget_widths(s, false);
}

void sheet_columns(struct sheet *s)
{
	forget_widths(s, !s->l.all);
}

/* ---- moving ---------------------------------------------------------------------------------- */

void sheet_move(struct sheet *s, long by)
{
	struct table_row r;
	size_t to = by < 0 && s->line < (size_t)-by ? 0 : s->line + (size_t)by;
	bool all;

	if (by != LONG_MAX && pager_row(s->pager, to, &r)) {
		s->line = to;
		return;
	}
	(void)pager_index(s->pager, SIZE_MAX);
	to = pager_lines(s->pager, &all);
	s->line = to ? to - 1 : 0;
}

void sheet_page(struct sheet *s, int by)
{
	if (by > 0)
		s->top += s->rows;
	else
		s->top -= s->top < s->rows ? s->top : s->rows;
	sheet_move(s, by * (long)s->rows);
}

bool sheet_key(struct sheet *s, int key)
{
#define PAGE 100000l
	static const struct {
		int key;
		long by;
	} keys[] = {
#define KEY(key, called, does, by) { key, by },
#include "cli/screen/sheet_keys.def"
#undef KEY
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i].key != key)
			continue;
		if (labs(keys[i].by) == PAGE)
			sheet_page(s, keys[i].by > 0 ? 1 : -1);
		else
			sheet_move(s, keys[i].by);
		return true;
	}
	return false;
#undef PAGE
}

void sheet_scroll(struct sheet *s, int by)
{
	if (by > 0)
		s->l.left += s->l.out > s->l.left && s->l.n;
	else
		s->l.left -= s->l.left > 0;
}

static void keep_in_sight(struct sheet *s)
{
	bool all;
	size_t lines = pager_lines(s->pager, &all);

	if (s->line >= lines && all)
		s->line = lines ? lines - 1 : 0;
	if (s->line < s->top)
		s->top = s->line;
	if (s->rows && s->line >= s->top + s->rows)
		s->top = s->line - s->rows + 1;
	if (all && s->top + s->rows > lines)
		s->top = lines > s->rows ? lines - s->rows : 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

void sheet_sort(struct sheet *s, size_t column, bool reverse)
{
	if (column != PAGER_UNSORTED || s->sort != PAGER_UNSORTED)
		pager_sort(s->pager, column, reverse);
	s->sort = column;
	s->reverse = reverse;
	s->line = s->top = 0;
}

void sheet_step_sort(struct sheet *s, int by)
{
	size_t at = 0, n = s->l.n;

	if (!n)
		return;
	while (at < n && s->l.on[at].column != s->sort)
		at++;
	at = (at + (by > 0 ? 1 : n)) % (n + 1);
	sheet_sort(s, at == n ? PAGER_UNSORTED : s->l.on[at].column, false);
}

bool sheet_click(struct sheet *s, unsigned line, unsigned column)
{
	size_t was = s->line, i = s->l.n;

	if (line >= s->at && line < s->at + s->rows) {
		sheet_move(s, (long)(s->top + line - s->at) - (long)was);
		return s->line == was;
	}
	if (line >= s->at || line + s->l.heads < s->at)
		return false;
	while (i && column + 1 < s->l.on[i - 1].at)
		i--;
	if (i--)
		sheet_sort(s, s->l.on[i].column, s->sort == s->l.on[i].column && !s->reverse);
	return false;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void see_lines(struct sheet *s, size_t from, size_t n)
{
	struct table_row r = { 0 };

	for (size_t i = from; i < from + n && pager_row(s->pager, i, &r); i++) {
		const struct layout_place place = pager_place(s->pager, i);

		layout_see(&s->l, &r, &place);
	}
}

/* With a mark at the column that is sorted by. */
static void draw_heads(const struct sheet *s, unsigned at)
{
	struct buf word = BUF_INIT;

	for (unsigned line = 0; line < s->l.heads; line++)
		for (size_t i = 0; i < s->l.n; i++) {
			const struct layout_column *c = &s->l.on[i];

			buf_reset(&word);
			layout_head(&s->l, &word, i, line);
			screen_put(at + line, c->at, buf_str(&word), INK_BOLD, false);
			if (c->column == s->sort && line + 1 == s->l.heads && c->at)
				screen_put(at + line, c->at - 1,
					   s->l.ascii	? (s->reverse ? "^" : "v")
					   : s->reverse ? "\xe2\x96\xb4"
							: "\xe2\x96\xbe",
					   INK_BOLD, false);
		}
	buf_free(&word);
}

static void draw_row(struct sheet *s, unsigned at, size_t line, const struct table_row *r)
{
	const struct layout_place place = pager_place(s->pager, line);
	struct buf word = BUF_INIT;

	for (size_t i = 0; i < s->l.n; i++) {
		enum ink ink;

		buf_reset(&word);
		ink = layout_cell(&s->l, &word, NULL, i, r, &place);
		screen_put(at, s->l.on[i].at, buf_str(&word), ink, false);
	}
	if (line == s->line)
		screen_bar(at);
	buf_free(&word);
}

void sheet_draw(struct sheet *s, unsigned at, unsigned lines, unsigned columns)
{
	struct table_row r = { 0 };

	keep_in_sight(s);
	see_lines(s, 0, FIRST);
	see_lines(s, s->top, lines);
	layout_fit(&s->l, columns);
	s->at = at + s->l.heads;
	s->rows = lines > s->l.heads ? lines - s->l.heads : 0;
	keep_in_sight(s);
	draw_heads(s, at);
	for (unsigned i = 0; i < s->rows && pager_row(s->pager, s->top + i, &r); i++)
		draw_row(s, s->at + i, s->top + i, &r);
}

void sheet_put_place(struct buf *out, const struct sheet *s)
{
	bool all;
	size_t lines = pager_lines(s->pager, &all);
	char a[NUM_MAX], n[NUM_MAX];

	buf_printf(out, "%s of %s%s", num_exact(a, lines ? s->line + 1 : 0), num_exact(n, lines),
		   all ? "" : "+");
	if (s->l.out)
		buf_printf(out, "  %s%zu more column%s", s->l.left ? "<" : "", s->l.out,
			   s->l.out == 1 ? " >" : "s >");
}
