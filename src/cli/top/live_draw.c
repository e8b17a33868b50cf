/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The picture: the target; the views; in the first view the tree in short; heads; rows; a message
 * or the typed text; the state.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/screen/screen.h"
#include "cli/top/live.h"

enum { ABOVE = 2, BELOW = 2 }; /* lines, heads and the tree apart */

static unsigned put_live_text(const struct live *l, unsigned line, unsigned at, const char *text,
			      enum ink ink)
{
	return screen_text(line, at, text, ink, false, l->style.ascii);
}

/* ---- above the rows -------------------------------------------------------------------------- */

static void put_whom(struct buf *b, const struct live *l)
{
	const struct measure_opts *a = &l->opts;

	if (top_whole(l->top) && a->cgroup.n)
		buf_printf(b, "cgroup %s", a->cgroup.v[0]);
	else if (top_whole(l->top))
		buf_printf(b, "%zu CPU%s", top_cpus(l->top), top_cpus(l->top) == 1 ? "" : "s");
	else if (a->pid.n)
		buf_printf(b, "pid %s", a->pid.v[0]);
	else if (a->tid.n)
		buf_printf(b, "thread %s", a->tid.v[0]);
	else if (l->cli->opt.measure.uid)
		buf_printf(b, "user %s", l->cli->opt.measure.uid);
	else
		buf_puts(b, "your processes");
}

static void put_live_clock(struct buf *b, double wall)
{
	time_t t = (time_t)wall;
	struct tm tm;
	char text[16] = "";

	if (localtime_r(&t, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		buf_puts(b, text);
}

static void put_losses(struct buf *b, const struct top_interval *now)
{
	char n[NUM_MAX];

	buf_printf(b, "%s lost", num_exact(n, now->lost));
	if (now->dropped)
		buf_printf(b, ", %s dropped", num_exact(n, now->dropped));
	if (now->throttled)
		buf_printf(b, ", throttled %s times", num_exact(n, now->throttled));
}

static void draw_head(struct live *l)
{
	const struct top_interval *now = top_interval(l->top);
	struct buf b = BUF_INIT, right = BUF_INIT;
	char s[NUM_MAX];

	buf_puts(&b, " top  ");
	if (now->number)
		put_live_clock(&b, now->wall);
	buf_printf(&b, "  %s  ",
		   num_seconds(s, now->number ? now->seconds : (double)l->interval_ns / 1e9));
	put_whom(&b, l);
	if (top_event(l->top)) {
		buf_printf(&b, "  %s samples of %s%s", num_exact(s, now->samples),
			   top_event(l->top), top_user_only(l->top) ? ", user space only" : "");
		buf_puts(&right, "  ");
		put_losses(&right, now);
	}
	buf_printf(&right, "  own %.1f %% ", now->own * 100);
	(void)put_live_text(l, 0, 0, buf_str(&b), INK_PLAIN);
	/* in the corner, whatever stands there */
	(void)put_live_text(l, 0, right.len < l->columns ? l->columns - (unsigned)right.len : 0,
			    buf_str(&right), now->own > 0.05 ? INK_BAD : INK_PLAIN);
	screen_bar(0);
	buf_free(&b);
	buf_free(&right);
}

static void draw_views(struct live *l)
{
	struct buf b = BUF_INIT;
	unsigned at = 1;

	for (unsigned i = 0; i < VIEWS; i++) {
		buf_reset(&b);
		buf_printf(&b, "%u %s", i + 1, live_views[i]);
		at = screen_text(1, at, buf_str(&b), i == l->view ? INK_BOLD : INK_DIM,
				 i == l->view, l->style.ascii) +
		     2;
	}
	if (*l->filter && at + 4 < l->columns) {
		buf_reset(&b);
		buf_printf(&b, "/%s", l->filter);
		(void)put_live_text(l, 1, at, buf_str(&b), INK_WARM);
	}
	buf_free(&b);
}

/* ---- the tree in short ----------------------------------------------------------------------- */

static unsigned draw_reason(struct live *l, unsigned line, unsigned most, const char *lead,
			    const char *why)
{
	struct buf b = BUF_INIT, lines = BUF_INIT, safe = BUF_INIT;
	char *save = NULL, *text;
	unsigned n = 0;

	buf_printf(&b, "%s%s", lead, why);
	text_put_safe(&safe, buf_str(&b), l->style.ascii);
	text_put_wrapped(&lines, buf_str(&safe), 0, l->columns > 2 ? l->columns - 2 : 0);
	text = lines.failed || !lines.len ? NULL : strtok_r(lines.s, "\n", &save);
	for (; text && n < most; text = strtok_r(NULL, "\n", &save))
		(void)put_live_text(l, line + n++, 1, text, INK_DIM);
	buf_free(&b);
	buf_free(&lines);
	buf_free(&safe);
	return n;
}

static void draw_node(struct live *l, unsigned line, const struct tree_view_row *r,
		      const char *label)
{
	enum { NAME = 34, SHARE = 8, BAR = 22 };
	struct buf b = BUF_INIT;
	enum ink ink = r->path ? INK_HOT : r->over ? INK_WARM : INK_PLAIN;
	const struct table_cell error = { .kind = T_SHARE, .e = { r->share, r->error, NULL } };

	buf_printf(&b, "%*s%s%s%s", (int)(2 * r->depth), "", r->depth || !label ? "" : label,
		   r->depth || !label ? "" : " ", r->name);
	(void)put_live_text(l, line, 1, buf_str(&b), ink);
	buf_reset(&b);
	if (isnan(r->share)) {
		buf_puts(&b, r->doubtful ? "?" : "-");
	} else {
		buf_printf(&b, "%*.1f %% ", SHARE - 2, r->share * 100);
		cell_put_error(&b, &error);
	}
	(void)put_live_text(l, line, NAME, buf_str(&b), ink);
	buf_reset(&b);
	for (int i = 0; !isnan(r->share) && i < (int)(r->share * BAR + 0.5) && i < BAR; i++)
		buf_puts(&b, l->style.ascii ? "#" : "\xe2\x96\x88");
	buf_puts(&b, r->path ? " <==" : "");
	(void)put_live_text(l, line, NAME + 18, buf_str(&b), ink);
	buf_free(&b);
}

/* Up to `most` lines, the tree's first ones. Returns how many. */
static unsigned draw_tree(struct live *l, unsigned line, unsigned most)
{
	unsigned n = 0;

	if (!l->report.n_views)
		return *live_no_tree(l) ? draw_reason(l, line, most, "no tree: ", live_no_tree(l))
					: 0;
	for (size_t v = 0; v < l->report.n_views; v++) {
		const struct tree_view *x = &l->report.view[v];

		for (size_t i = 0; i < x->n && n < most; i++)
			draw_node(l, line + n++, &x->row[i], x->source.label);
	}
	return n;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *live_nothing(const struct live *l)
{
	if (!top_interval(l->top)->number)
		return "the first interval has not ended yet";
	if (*l->filter && l->view != VIEW_TREE)
		return "no row has this text (/ and Enter: all)";
	if (l->view == VIEW_TREE)
		return "";
	if (l->view == VIEW_FUNCTIONS && *top_no_samples(l->top))
		return "nothing is sampled, so there are no functions";
	if (l->view == VIEW_MACHINE)
		return *top_no_machine(l->top) ? top_no_machine(l->top)
					       : "no metric has a value in this interval";
	return "nothing ran in this interval";
}

static void draw_table(struct live *l, unsigned at)
{
	struct sheet *s = live_sheet(l);
	bool all;

	s->rows = 0;
	s->l.ascii = l->style.ascii;
	if (!pager_lines(s->pager, &all))
		(void)draw_reason(l, at, 2, "", live_nothing(l));
	else
		sheet_draw(s, at, l->lines > at + BELOW ? l->lines - at - BELOW : 0, l->columns);
}

/* ---- below them ------------------------------------------------------------------------------ */

static void put_live_place(struct buf *b, struct live *l)
{
	const struct sheet *s = &l->tab[l->view].s;
	char n[NUM_MAX];

	if (!s->pager)
		return;
	sheet_put_place(b, s);
	if (l->view == VIEW_FUNCTIONS && top_interval(l->top)->more_functions)
		buf_printf(b, "  %s smaller", num_exact(n, top_interval(l->top)->more_functions));
}

/* Keys as far as they leave room for where one is. */
static void put_live_keys(struct buf *b, const struct live *l, size_t room)
{
	static const char *const keys[] = { "? keys",	  "  q end",   "  / filter",
					    "  < > sort", "  w write", "  Space pause" };
	char interval[64], s[NUM_MAX];

	buf_puts(b, l->held ? " PAUSED (Space goes on)  " : " ");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) - l->held; i++) {
		if (b->len + strlen(keys[i]) > room)
			return;
		buf_puts(b, keys[i]);
	}
	(void)snprintf(interval, sizeof(interval), "  + - interval %s",
		       num_seconds(s, (double)l->interval_ns / 1e9));
	if (b->len + strlen(interval) <= room)
		buf_puts(b, interval);
}

static void draw_live_state(struct live *l)
{
	struct buf b = BUF_INIT, right = BUF_INIT;

	put_live_place(&right, l);
	buf_putc(&right, ' ');
	put_live_keys(&b, l, l->columns > right.len ? l->columns - right.len - 1 : 0);
	(void)put_live_text(l, l->lines - 1, 0, buf_str(&b), INK_PLAIN);
	if (b.len + right.len < l->columns)
		(void)put_live_text(l, l->lines - 1, l->columns - (unsigned)right.len,
				    buf_str(&right), INK_PLAIN);
	screen_bar(l->lines - 1);
	buf_free(&b);
	buf_free(&right);
}

static void draw_prompt(struct live *l)
{
	unsigned line = l->lines - 2, at;

	if (*l->message)
		(void)draw_reason(l, line, 1, "", l->message);
	if (l->prompt == PROMPT_NONE)
		return;
	screen_clear(line);
	at = put_live_text(
		l, line, 1,
		l->prompt == PROMPT_FILTER ? "only rows with: " : "write samples to: ", INK_BOLD);
	at = put_live_text(l, line, at, l->typed, INK_PLAIN);
	screen_cursor(line, at < l->columns ? at : l->columns - 1);
}

static void draw_keys(struct live *l)
{
	enum { KEYS = 16 };
	unsigned line = ABOVE;
	size_t n;
	const struct live_key_text *k = live_key_texts(&n);

	for (size_t i = 0; i < n && line + 2 < l->lines; i++) {
		if (!k[i].keys)
			continue;
		(void)put_live_text(l, line, 1, k[i].keys, INK_BOLD);
		(void)put_live_text(l, line++, 1 + KEYS, k[i].text, INK_PLAIN);
	}
}

void live_draw(struct live *l)
{
	unsigned at = ABOVE;

	screen_size(&l->lines, &l->columns);
	screen_begin();
	draw_head(l);
	draw_views(l);
	if (l->help) {
		draw_keys(l);
	} else {
		if (l->view == VIEW_FUNCTIONS && l->lines > 14)
			at += draw_tree(l, at, l->lines / 3);
		else if (l->view == VIEW_TREE && !l->report.n_views && *live_no_tree(l))
			at += draw_reason(l, at, 4, "no tree: ", live_no_tree(l));
		draw_table(l, at);
	}
	if (l->lines > 3) {
		draw_live_state(l);
		draw_prompt(l);
	}
	screen_end();
}
