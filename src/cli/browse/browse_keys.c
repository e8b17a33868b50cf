/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions of the keys of keys.def.
 */
#include <string.h>

#include "base/xalloc.h"
#include "cli/browse/browse.h"
#include "cli/screen/screen.h"

enum { FIND_ROWS = 20000 }; /* searched before a key is looked for */

/* ---- moving ---------------------------------------------------------------------------------- */

static void press_page_down(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_page(&x->s, 1);
}

static void press_page_up(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_page(&x->s, -1);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* `under`: on top of the present view; else in its place. */
static void show_view(struct browse *b, struct source *s, enum result_id id, const char *function,
		      bool under)
{
	struct browse_view *v;
	struct err err = ERR_INIT;

	(void)snprintf(b->message, sizeof(b->message), "reading ...");
	browse_draw(b);
	b->message[0] = 0;
	if (browse_view_open(&v, s, id, function, &err)) {
		browse_say(b, &err);
		return;
	}
	while (!under && b->stack.n)
		browse_view_close(b->stack.v[--b->stack.n]);
	vec_xpush(&b->stack, v);
}

static void press_back(struct browse *b, struct browse_tab *x)
{
	(void)x;
	if (b->stack.n > 1)
		browse_view_close(b->stack.v[--b->stack.n]);
}

static void press_quit(struct browse *b, struct browse_tab *x)
{
	(void)x;
	b->ended = true;
}

static void back_or_quit(struct browse *b, struct browse_tab *x)
{
	if (b->stack.n > 1)
		press_back(b, x);
	else
		press_quit(b, x);
}

static void press_help(struct browse *b, struct browse_tab *x)
{
	(void)x;
	if (browse_top(b)->d)
		vec_xpush(&b->stack, browse_view_keys());
}

static struct source *source_here(const struct browse *b)
{
	for (size_t i = b->stack.n; i-- > 0;)
		if (b->stack.v[i]->source && !b->stack.v[i]->source->by_thread)
			return b->stack.v[i]->source;
	return b->sources.v.v[0];
}

static void show_numbered_result(struct browse *b, size_t number)
{
	enum result_id id = browse_result(number);

	if (id != RESULT_COUNT)
		show_view(b, source_here(b), id, NULL, false);
}

/* The next one up or down that the recording has. */
static void step_result(struct browse *b, int by)
{
	const struct source *s = source_here(b);
	size_t at = 0, n = 0;

	while (browse_result(n) != RESULT_COUNT)
		n++;
	while (at < n && browse_result(at) != b->stack.v[0]->id)
		at++;
	for (size_t i = 0; i < n; i++) {
		at = by > 0 ? (at + 1) % n : (at + n - 1) % n;
		if (results_able(s->all, browse_result(at)))
			break;
	}
	show_numbered_result(b, at);
}

static void next_result(struct browse *b, struct browse_tab *x)
{
	(void)x;
	step_result(b, 1);
}

static void previous_result(struct browse *b, struct browse_tab *x)
{
	(void)x;
	step_result(b, -1);
}

static void next_table(struct browse *b, struct browse_tab *x)
{
	struct browse_view *v = browse_top(b);

	(void)x;
	v->at = (v->at + 1) % v->tab.n;
}

static void previous_table(struct browse *b, struct browse_tab *x)
{
	struct browse_view *v = browse_top(b);

	(void)x;
	v->at = (v->at + v->tab.n - 1) % v->tab.n;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void say_no_function(struct browse *b)
{
	(void)snprintf(b->message, sizeof(b->message), "this row is of no function");
}

static void press_annotate(struct browse *b, struct browse_tab *x)
{
	struct buf name = BUF_INIT;

	if (!browse_top(b)->d || !browse_tab_function(x, &name))
		say_no_function(b);
	else
		show_view(b, source_here(b), RESULT_ANNOTATE, buf_str(&name), true);
	buf_free(&name);
}

/* Goes to the row of a name: with callers first, functions are the roots. */
static void go_to_name(struct browse_tab *x, const char *name)
{
	struct buf here = BUF_INIT;
	size_t was = x->s.line;
	bool all, found = false;

	for (x->s.line = 0; !found && x->s.line < pager_lines(x->s.pager, &all);) {
		buf_reset(&here);
		found = browse_tab_name(x, &here) && !strcmp(buf_str(&here), name);
		x->s.line += !found;
	}
	x->s.line = found ? x->s.line : was;
	buf_free(&here);
}

static void callers(struct browse *b, struct browse_tab *x)
{
	struct buf name = BUF_INIT;
	size_t n = b->stack.n;

	if (!browse_top(b)->d || !browse_tab_name(x, &name)) {
		say_no_function(b);
	} else {
		show_view(b, source_here(b), RESULT_CALLERS, NULL, true);
		if (b->stack.n > n) {
			x = browse_tab(b);
			pager_fold_all(x->s.pager, false);
			go_to_name(x, buf_str(&name));
			pager_unfold_first(x->s.pager, x->s.line);
			x->s.top = x->s.line;
		}
	}
	buf_free(&name);
}

static void thread(struct browse *b, struct browse_tab *x)
{
	struct err err = ERR_INIT;
	struct browse_view *v = browse_top(b);
	struct source *s;
	enum result_id id = v->source && !v->source->by_thread && v->id != RESULT_ANNOTATE
				    ? v->id
				    : RESULT_FUNCTIONS;
	uint64_t tid;
	bool one = v->d && browse_tab_number(x, "tid", &tid);

	(void)snprintf(b->message, sizeof(b->message), "reading ...");
	browse_draw(b);
	b->message[0] = 0;
	s = sources_get(&b->sources, one ? tid : SOURCE_ALL, !one, &err);
	if (!s)
		browse_say(b, &err);
	else
		show_view(b, s, one ? id : RESULT_FUNCTIONS, NULL, true);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void unfold(struct browse *b, struct browse_tab *x)
{
	(void)b;
	if (pager_place(x->s.pager, x->s.line).opens && !pager_place(x->s.pager, x->s.line).open)
		pager_fold(x->s.pager, x->s.line, true);
	else if (pager_is_tree(x->s.pager))
		sheet_move(&x->s, 1);
}

static void press_fold(struct browse *b, struct browse_tab *x)
{
	struct layout_place at = pager_place(x->s.pager, x->s.line);
	size_t above;

	(void)b;
	if (at.opens && at.open) {
		pager_fold(x->s.pager, x->s.line, false);
		return;
	}
	above = pager_parent(x->s.pager, x->s.line);
	if (above != PAGER_NO_LINE)
		x->s.line = above;
}

static void unfold_all(struct browse *b, struct browse_tab *x)
{
	(void)b;
	pager_fold_all(x->s.pager, true);
}

static void fold_all(struct browse *b, struct browse_tab *x)
{
	(void)b;
	pager_fold_all(x->s.pager, false);
	x->s.line = 0;
}

static void press_enter(struct browse *b, struct browse_tab *x)
{
	struct layout_place at = pager_place(x->s.pager, x->s.line);
	struct browse_view *v = browse_top(b);

	if (at.opens)
		pager_fold(x->s.pager, x->s.line, !at.open);
	else if (v->source && v->source->by_thread)
		thread(b, x);
	else if (v->d && v->id != RESULT_ANNOTATE)
		press_annotate(b, x);
}

/* ---- searching ------------------------------------------------------------------------------- */

static void search_table(struct browse *b, struct browse_tab *x, bool backwards)
{
	struct err err = ERR_INIT;
	enum pager_found found;
	size_t line;

	if (!*b->found) {
		(void)snprintf(b->message, sizeof(b->message), "nothing was searched for yet: /");
		return;
	}
	if (pager_find(x->s.pager, b->found, x->s.line, backwards, layout_not_flags(&x->s.l),
		       &err)) {
		browse_say(b, &err);
		return;
	}
	while ((found = pager_find_step(x->s.pager, FIND_ROWS, &line)) == PAGER_MORE) {
		if (screen_waiting()) {
			(void)snprintf(b->message, sizeof(b->message), "search given up at %.0f %%",
				       100 * pager_find_done(x->s.pager));
			return;
		}
		(void)snprintf(b->message, sizeof(b->message), "searching ... %.0f %%",
			       100 * pager_find_done(x->s.pager));
		browse_draw(b);
	}
	b->message[0] = 0;
	if (found == PAGER_FOUND)
		x->s.line = line;
	else
		(void)snprintf(b->message, sizeof(b->message), "not found: %s", b->found);
}

static void search(struct browse *b, struct browse_tab *x)
{
	char text[sizeof(b->found)];

	if (!browse_prompt(b, "/", text, sizeof(text)))
		return;
	if (*text)
		(void)snprintf(b->found, sizeof(b->found), "%s", text);
	search_table(b, x, false);
}

static void search_next(struct browse *b, struct browse_tab *x)
{
	search_table(b, x, false);
}

static void search_previous(struct browse *b, struct browse_tab *x)
{
	search_table(b, x, true);
}

/* ---- order and columns ----------------------------------------------------------------------- */

static void sort(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_step_sort(&x->s, 1);
}

static void sort_reverse(struct browse *b, struct browse_tab *x)
{
	if (x->s.sort == PAGER_UNSORTED)
		sort(b, x);
	sheet_sort(&x->s, x->s.sort, !x->s.reverse);
}

static void scroll_right(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_scroll(&x->s, 1);
}

static void scroll_left(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_scroll(&x->s, -1);
}

static void press_columns(struct browse *b, struct browse_tab *x)
{
	(void)b;
	sheet_columns(&x->s);
}

static void press_reset(struct browse *b, struct browse_tab *x)
{
	sheet_reset(&x->s);
	if (source_here(b)->tid != SOURCE_ALL)
		show_view(b, b->sources.v.v[0], browse_top(b)->source ? b->stack.v[0]->id : 0, NULL,
			  false);
}

static void press_click(struct browse *b, struct browse_tab *x)
{
	unsigned line, column;

	screen_clicked(&line, &column);
	if (sheet_click(&x->s, line, column))
		press_enter(b, x);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct {
	int key;
	void (*press)(struct browse *b, struct browse_tab *x);
} keys[] = {
#define KEY(key, called, does, function) { key, function },
#include "cli/browse/keys.def"
#undef KEY
};

void browse_key(struct browse *b, int key)
{
	struct browse_tab *x = browse_tab(b);

	b->message[0] = 0;
	if (key == SCREEN_RESIZED) {
		for (size_t i = 0; i < b->stack.n; i++)
			browse_view_resized(b->stack.v[i]);
		return;
	}
	if (key >= '1' && key <= '9') {
		show_numbered_result(b, (size_t)(key - '1'));
		return;
	}
	if (sheet_key(&x->s, key))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key) {
			keys[i].press(b, x);
			return;
		}
}
