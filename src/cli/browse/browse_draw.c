/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The picture: the results; the tables of this one; heads; rows; the rest of a row that is cut, or
 * a message; the state.
 */
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/browse/browse.h"
#include "cli/browse/browse_pages.h"
#include "cli/screen/screen.h"

enum { ABOVE = 2, BELOW = 2 }; /* lines, heads apart */

/* ---- above the rows -------------------------------------------------------------------------- */

static void draw_results(struct browse *b)
{
	const struct browse_view *v = browse_top(b);
	const struct source *s = b->sources.v.v[0];
	unsigned at = 1;
	bool among = false;

	for (size_t i = 0; browse_result(i) != RESULT_COUNT; i++) {
		enum result_id id = browse_result(i);
		bool here = v->source && v->id == id && !v->source->by_thread;
		char text[64];

		if (!results_able(s->all, id))
			continue;
		among |= here;
		if (i < BROWSE_NUMBERED)
			(void)snprintf(text, sizeof(text), "%zu %s", i + 1, result_kinds[id].name);
		else
			(void)snprintf(text, sizeof(text), "%s", result_kinds[id].name);
		at = screen_text(0, at, text, here ? INK_BOLD : INK_DIM, here, b->style.ascii) + 2;
	}
	if (!among)
		(void)screen_text(0, at, v->title, INK_BOLD, true, b->style.ascii);
}

/* Those at the left go where the one at hand has no room. */
static void draw_tables(struct browse *b)
{
	const struct browse_view *v = browse_top(b);
	unsigned at = 1;
	size_t from = 0, used = 1;

	for (size_t i = 0; i <= v->at; i++)
		for (used += strlen(v->tab.v[i]->name) + 2; used > b->columns && from < i; from++)
			used -= strlen(v->tab.v[from]->name) + 2;
	for (size_t i = from; i < v->tab.n && at < b->columns; i++)
		at = screen_text(1, at, v->tab.v[i]->name, i == v->at ? INK_BOLD : INK_DIM,
				 i == v->at, b->style.ascii) +
		     2;
}

/* ---- below them ------------------------------------------------------------------------------ */

/* If the line is too long, the file's name is cut, not the losses. */
static void draw_browse_state(struct browse *b, const struct browse_view *v,
			      const struct browse_tab *x)
{
	struct buf right = BUF_INIT, left = BUF_INIT, line = BUF_INIT;
	size_t room;

	if (x)
		sheet_put_place(&right, &x->s);
	if (v->d) {
		buf_puts(&right, "  ");
		page_put_losses(&right, v->d);
		if (v->d->note.n)
			buf_printf(&right, "  %zu note%s", v->d->note.n,
				   v->d->note.n == 1 ? "" : "s");
	}
	buf_puts(&right, "  ? keys ");
	if (v->source && v->source->tid != SOURCE_ALL)
		buf_printf(&right, " thread %s ", v->source->text);
	room = text_width(buf_str(&right)) + 2 < b->columns
		       ? b->columns - text_width(buf_str(&right)) - 2
		       : 0;
	buf_puts(&left, b->path);
	buf_putc(&line, ' ');
	if (text_width(buf_str(&left)) > room) {
		struct buf safe = BUF_INIT;

		text_put_safe(&safe, b->path, b->style.ascii);
		text_put_fit(&line, buf_str(&safe), room, TEXT_LEFT, true, b->style.ascii);
		buf_free(&safe);
	} else {
		text_put_safe_fit(&line, buf_str(&left), room, b->style.ascii);
	}
	buf_putc(&line, ' ');
	buf_puts(&line, buf_str(&right));
	(void)screen_text(b->lines - 1, 0, buf_str(&line), INK_PLAIN, false, b->style.ascii);
	screen_bar(b->lines - 1);
	buf_free(&left);
	buf_free(&right);
	buf_free(&line);
}

/* In as many lines as it takes, over the last rows. */
static void draw_message(struct browse *b)
{
	struct buf safe = BUF_INIT, lines = BUF_INIT;
	char *save = NULL, *line;
	unsigned n = 1, at;

	text_put_safe(&safe, b->message, b->style.ascii);
	text_put_wrapped(&lines, buf_str(&safe), 0, b->columns > 2 ? b->columns - 2 : 0);
	for (size_t i = 0; i < lines.len; i++)
		n += lines.s[i] == '\n';
	at = b->lines > n + 1 ? b->lines - 1 - n : 0;
	line = lines.failed || !lines.len ? NULL : strtok_r(lines.s, "\n", &save);
	for (; line && at + 1 < b->lines; line = strtok_r(NULL, "\n", &save), at++) {
		screen_clear(at);
		(void)screen_text(at, 1, line, INK_BOLD, false, b->style.ascii);
	}
	buf_free(&safe);
	buf_free(&lines);
}

static void draw_detail(struct browse *b, struct browse_view *v)
{
	struct buf text = BUF_INIT;

	if (b->lines < 2)
		return;
	if (*b->message) {
		draw_message(b);
		return;
	}
	browse_view_detail(v, &text);
	for (size_t i = 0; i < text.len; i++)
		text.s[i] = text.s[i] == '\t' ? ' ' : text.s[i];
	(void)screen_text(b->lines - 2, 1, buf_str(&text) + strspn(buf_str(&text), " "), INK_DIM,
			  false, b->style.ascii);
	buf_free(&text);
}

void browse_draw(struct browse *b)
{
	struct browse_view *v = browse_top(b);
	struct browse_tab *x;

	screen_size(&b->lines, &b->columns);
	screen_begin();
	x = browse_tab(b);
	draw_results(b);
	draw_tables(b);
	if (x)
		sheet_draw(&x->s, ABOVE, b->lines > ABOVE + BELOW ? b->lines - ABOVE - BELOW : 0,
			   b->columns);
	draw_detail(b, v);
	draw_browse_state(b, v, x);
	screen_end();
}

bool browse_prompt(struct browse *b, const char *lead, char *text, size_t size)
{
	size_t len = 0;

	*text = 0;
	for (;;) {
		unsigned at, line = b->lines > 1 ? b->lines - 2 : 0;
		int key;

		browse_draw(b);
		screen_clear(line);
		at = screen_text(line, 1, lead, INK_BOLD, false, b->style.ascii);
		at = screen_text(line, at, text, INK_PLAIN, false, b->style.ascii);
		screen_cursor(line, at < b->columns ? at : b->columns - 1);
		screen_end();
		key = screen_key(-1);
		if (key == SCREEN_ENTER)
			return true;
		if (key == SCREEN_ESCAPE || key == SCREEN_NONE || (key == SCREEN_BACK && !len))
			return false;
		if (key == SCREEN_BACK)
			while (len && ((unsigned char)text[--len] & 0xc0) == 0x80)
				;
		else if (key == 21) /* Ctrl-U */
			len = 0;
		else if (key >= ' ' && key < 256 && len + 1 < size)
			text[len++] = (char)key;
		text[len] = 0;
	}
}
