/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intervals for people: a row each, and for each place, so that the eye can go down a column.
 *
 *	      time frontend bad_spec  backend retiring  <==
 *	   0.100 s   11.0 %    5.0 %   64.0 %   20.0 %  memory_bound   41.7 % +-1.3
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/tree/tree_parts.h"

#define TIME_WIDTH   10u
#define COLUMN_WIDTH 9u
#define VALUE_WIDTH  16u /* " 100.0 % +-100.0" */
#define NAME_LEAST   7u
#define NAME_MOST    24u

static bool is_column(const struct tree_view_row *r)
{
	return !r->depth && r->metric != MODEL_NONE;
}

static size_t columns(const struct tree_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += is_column(&v->row[i]);
	return n;
}

/* A blank and the longest; 0: there is but one place. */
static size_t label_width(const struct tree_report *r)
{
	size_t most = 0;

	for (size_t i = 0; i < r->n_views; i++) {
		const char *label = r->view[i].source.label;

		if (label && strlen(label) + 1 > most)
			most = strlen(label) + 1;
	}
	return most;
}

static size_t width_before(const struct tree_report *r)
{
	return TIME_WIDTH + label_width(r) + COLUMN_WIDTH * columns(&r->view[0]) + 2;
}

bool tree_interval_fits(const struct tree_report *r, const struct style *st)
{
	if (!r->n_views || !columns(&r->view[0]))
		return false;
	for (size_t i = 0; i < r->n_views; i++)
		if (r->view[i].n_metrics || r->view[i].source.formula)
			return false;
	return width_before(r) + NAME_LEAST + VALUE_WIDTH <= st->width;
}

/* "frontend" of frontend_bound, "bad_spec" of bad_speculation. */
static void put_interval_title(struct buf *b, const char *name)
{
	const char *end = strstr(name, "_bound");
	size_t len = end ? (size_t)(end - name) : strlen(name);

	len = len < COLUMN_WIDTH ? len : COLUMN_WIDTH - 1;
	buf_fill(b, ' ', COLUMN_WIDTH - len);
	buf_put(b, name, len);
}

static void put_interval_titles(struct buf *b, const struct tree_report *r)
{
	buf_put_right(b, "time", TIME_WIDTH);
	buf_fill(b, ' ', label_width(r));
	for (size_t i = 0; i < r->view[0].n; i++)
		if (is_column(&r->view[0].row[i]))
			put_interval_title(b, r->view[0].row[i].name);
	buf_puts(b, "  <==\n");
}

static void put_interval_share(struct buf *b, const struct tree_view_row *r, unsigned width)
{
	char n[NUM_MAX];

	buf_put_right(b,
		      r->doubtful	? "?"
		      : isnan(r->share) ? "-"
					: num_percent(n, r->share),
		      width);
}

/* Names begin like their parents' and differ at the end. */
static void put_interval_end(struct buf *b, const char *name, size_t width, bool ascii)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, name, ascii);
	text_put_fit(b, buf_str(&safe), width, TEXT_LEFT, true, ascii);
	b->failed |= safe.failed;
	buf_free(&safe);
}

static void put_deepest(struct buf *b, const struct tree_view *v, size_t room, bool ascii)
{
	uint32_t deepest = tree_view_deepest(v->source.tree);

	for (size_t i = 0; i < v->n; i++) {
		const struct tree_view_row *r = &v->row[i];

		if (r->metric == MODEL_NONE || r->metric != deepest)
			continue;
		buf_puts(b, "  ");
		put_interval_end(b, r->name, room, ascii);
		put_interval_share(b, r, 8);
		buf_putc(b, ' ');
		if (!r->doubtful)
			tree_put_error(b, r->share, r->error);
	}
}

static void put_interval_place(struct buf *b, const struct tree_report *r,
			       const struct tree_view *v, const struct style *st)
{
	size_t room = st->width - width_before(r) - VALUE_WIDTH;

	buf_put_fixed(b, r->head.time, 3, TIME_WIDTH - 2);
	buf_puts(b, " s");
	if (v->source.label) {
		buf_putc(b, ' ');
		text_put_safe_fit(b, v->source.label, label_width(r) - 1, st->ascii);
	}
	for (size_t i = 0; i < v->n; i++)
		if (is_column(&v->row[i]))
			put_interval_share(b, &v->row[i], COLUMN_WIDTH);
	put_deepest(b, v, room < NAME_MOST ? room : NAME_MOST, st->ascii);
	buf_end_line(b);
}

void tree_put_interval(struct buf *b, const struct tree_report *r, const struct show *s)
{
	if (!s->later)
		put_interval_titles(b, r);
	for (size_t i = 0; i < r->n_views; i++)
		put_interval_place(b, r, &r->view[i], &s->style);
}
