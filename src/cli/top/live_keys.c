/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Actions of the keys of keys.def.
 */
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "cli/screen/screen.h"
#include "cli/top/live.h"

/* ---- views ----------------------------------------------------------------------------------- */

static void show_next_view(struct live *l)
{
	l->view = (enum live_view)(((unsigned)l->view + 1) % VIEWS);
}

static void show_previous_view(struct live *l)
{
	l->view = (enum live_view)(((unsigned)l->view + VIEWS - 1) % VIEWS);
}

/* ---- the tree's folds; columns --------------------------------------------------------------- */

static void live_fold(struct live *l, bool open)
{
	struct sheet *s = live_sheet(l);
	const struct live_node *n;
	struct table_row r;

	if (!pager_row(s->pager, s->line, &r))
		return;
	n = r.p;
	*u64map_xat(&l->folds, n->id, NULL) = open ? 1 : 2;
	pager_fold(s->pager, s->line, open);
}

static void toggle(struct live *l)
{
	const struct sheet *s = live_sheet(l);

	if (l->view == VIEW_TREE)
		live_fold(l, !pager_place(s->pager, s->line).open);
}

static void right(struct live *l)
{
	if (l->view == VIEW_TREE)
		live_fold(l, true);
	else
		sheet_scroll(live_sheet(l), 1);
}

static void live_left(struct live *l)
{
	struct sheet *s = live_sheet(l);
	struct layout_place p = pager_place(s->pager, s->line);
	size_t above = pager_parent(s->pager, s->line);

	if (l->view != VIEW_TREE)
		sheet_scroll(s, -1);
	else if (p.opens && p.open)
		live_fold(l, false);
	else if (above != PAGER_NO_LINE)
		s->line = above;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void sort_next(struct live *l)
{
	sheet_step_sort(live_sheet(l), 1);
}

static void sort_previous(struct live *l)
{
	sheet_step_sort(live_sheet(l), -1);
}

static void reverse(struct live *l)
{
	struct sheet *s = live_sheet(l);

	if (s->sort == PAGER_UNSORTED) {
		live_say(l, "> or < chooses a column first");
		return;
	}
	sheet_sort(s, s->sort, !s->reverse);
}

static void live_click(struct live *l)
{
	unsigned line, column;

	screen_clicked(&line, &column);
	(void)sheet_click(live_sheet(l), line, column);
}

/* ---- intervals, files ------------------------------------------------------------------------ */

static void live_hold(struct live *l)
{
	l->held = !l->held;
	top_hold(l->top, l->held);
}

static void set_interval(struct live *l, int step)
{
	static const unsigned ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
	enum { N = sizeof(ms) / sizeof(*ms) };
	uint64_t to = l->interval_ns;

	for (size_t i = 0; i < N && step > 0 && to == l->interval_ns; i++)
		if (ms[i] * 1000000ull > l->interval_ns)
			to = ms[i] * 1000000ull;
	for (size_t i = N; i-- && step < 0 && to == l->interval_ns;)
		if (ms[i] * 1000000ull < l->interval_ns)
			to = ms[i] * 1000000ull;
	l->interval_ns = to;
	top_set_interval(l->top, to);
}

static void longer(struct live *l)
{
	set_interval(l, 1);
}

static void shorter(struct live *l)
{
	set_interval(l, -1);
}

static void prompt(struct live *l, enum live_prompt p, const char *text)
{
	l->prompt = p;
	(void)snprintf(l->typed, sizeof(l->typed), "%s", text);
}

static void ask_filter(struct live *l)
{
	prompt(l, PROMPT_FILTER, l->filter);
}

static void save(struct live *l)
{
	prompt(l, PROMPT_FILE, "cyclade.data");
}

static void write_file(struct live *l)
{
	struct err err = ERR_INIT;
	uint64_t samples;
	char n[NUM_MAX];

	if (top_save(l->top, l->typed, &samples, &err))
		live_say(l, "%.300s%s%.150s", err.what, *err.hint ? ": " : "", err.hint);
	else
		live_say(l, "%s samples in %.200s: cyclade report %.200s", num_exact(n, samples),
			 l->typed, l->typed);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void live_help(struct live *l)
{
	l->help = !l->help;
}

static void live_back(struct live *l)
{
	if (l->help)
		l->help = false;
	else if (*l->filter)
		live_filter(l, "");
}

static void live_quit(struct live *l)
{
	if (l->help)
		l->help = false;
	else
		top_end(l->top);
}

static const struct {
	int key;
	void (*does)(struct live *l);
} keys[] = {
#define KEY(key, keys, text, does) { key, does },
#include "cli/top/keys.def"
#undef KEY
};

static const struct live_key_text texts[] = {
#define KEY(key, keys, text, does) { keys, text },
#include "cli/screen/sheet_keys.def"
#include "cli/top/keys.def"
#undef KEY
};

const struct live_key_text *live_key_texts(size_t *n)
{
	*n = sizeof(texts) / sizeof(*texts);
	return texts;
}

static void end_prompt(struct live *l, bool taken)
{
	enum live_prompt was = l->prompt;

	l->prompt = PROMPT_NONE;
	if (!taken)
		return;
	if (was == PROMPT_FILTER)
		live_filter(l, l->typed);
	else if (*l->typed)
		write_file(l);
}

static void live_type(struct live *l, int key)
{
	size_t len = strlen(l->typed);

	if (key == SCREEN_ENTER) {
		end_prompt(l, true);
	} else if (key == SCREEN_ESCAPE || (key == SCREEN_BACK && !len)) {
		end_prompt(l, false);
	} else if (key == SCREEN_BACK) {
		while (len && ((unsigned char)l->typed[--len] & 0xc0) == 0x80)
			;
		l->typed[len] = '\0';
	} else if (key == 21) { /* Ctrl-U */
		*l->typed = '\0';
	} else if (key >= ' ' && key < 256 && len + 1 < sizeof(l->typed)) {
		l->typed[len++] = (char)key;
		l->typed[len] = '\0';
	}
}

void live_key(struct live *l, int key)
{
	*l->message = '\0';
	if (l->prompt != PROMPT_NONE) {
		live_type(l, key);
		return;
	}
	if (key >= '1' && key < '1' + VIEWS) {
		l->view = (enum live_view)(key - '1');
		return;
	}
	if (!l->help && sheet_key(live_sheet(l), key))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key) {
			keys[i].does(l);
			return;
		}
}
