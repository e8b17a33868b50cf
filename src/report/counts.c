/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/counts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"

#define VALUE_WIDTH 18
#define NAME_WIDTH  24

/* 1,204.31 ms, cut off behind the last digit */
static void ms_text(double ns, char out[NUM_MAX * 2])
{
	unsigned part = (unsigned)((uint64_t)(ns / 1e4) % 100);
	size_t n = strlen(num_exact(out, (uint64_t)(ns / 1e6)));

	out[n++] = '.';
	out[n++] = (char)('0' + part / 10);
	out[n++] = (char)('0' + part % 10);
	memcpy(out + n, " ms", 4);
}

/* 12,712,001 · 1,204.31 ms · 3.402 J */
static void value_text(const struct counts_row *r, char out[NUM_MAX * 2])
{
	if (isnan(r->value))
		(void)snprintf(out, NUM_MAX * 2, "%s",
			       r->supported ? "<not counted>" : "<not supported>");
	else if (!strcmp(r->unit, "ns"))
		ms_text(r->value, out);
	else if (*r->unit || (r->value < 100 && r->value > floor(r->value)))
		(void)snprintf(out, NUM_MAX * 2, "%.3f%s%.12s", r->value, *r->unit ? " " : "",
			       r->unit);
	else
		(void)num_exact(out, (uint64_t)(r->value + 0.5));
}

static void put_error(struct buf *b, const struct counts_row *r)
{
	if (isnan(r->error) || isnan(r->value) || r->value <= 0)
		return;
	if (r->error / r->value < 0.0005)
		buf_puts(b, "  +-<0.1 %");
	else
		buf_printf(b, "  +-%.1f %%", 100 * r->error / r->value);
}

static void put_where(struct buf *b, const struct counts_row *r, size_t width, bool ascii)
{
	struct buf safe = BUF_INIT;

	if (!width)
		return;
	text_put_safe(&safe, r->where ? r->where : "", ascii);
	text_put_fit(b, buf_str(&safe), width, TEXT_LEFT, true, ascii);
	buf_free(&safe);
	if (r->n_cpus)
		buf_printf(b, " %4zu", r->n_cpus);
}

static void put_row(struct buf *b, const struct counts *c, const struct counts_row *r, size_t where,
		    const struct counts_style *st)
{
	struct buf safe = BUF_INIT;
	char value[NUM_MAX * 2];
	size_t width;

	if (!isnan(c->head.time))
		buf_put_fixed(b, c->head.time, 3, 10);
	if (where)
		buf_putc(b, ' ');
	put_where(b, r, where, st->style.ascii);
	value_text(r, value);
	buf_putc(b, ' ');
	buf_put_right(b, value, VALUE_WIDTH);
	buf_puts(b, "  ");
	text_put_safe(&safe, r->event, st->style.ascii);
	width = text_width(buf_str(&safe));
	buf_puts(b, buf_str(&safe));
	buf_free(&safe);
	if (r->note || !isnan(r->error) || r->why || (r->counted < 1 && !isnan(r->counted)))
		buf_fill(b, ' ', width < NAME_WIDTH ? NAME_WIDTH - width : 0);
	if (r->why && isnan(r->value)) {
		buf_puts(b, "  ");
		buf_puts(b, r->why);
	} else {
		if (r->note) {
			buf_puts(b, "  ");
			buf_puts(b, r->note);
		}
		put_error(b, r);
		if (!isnan(r->counted) && r->counted < 0.9995)
			buf_printf(b, "  (counted %.1f %% of the time)", 100 * r->counted);
	}
	buf_putc(b, '\n');
}

void counts_put_head(struct buf *b, const struct count_head *c, const struct style *st)
{
	struct buf line = BUF_INIT, safe = BUF_INIT;

	count_head_command(&line, c);
	text_put_safe(&safe, buf_str(&line), st->ascii);
	buf_putc(b, ' ');
	style_ink(b, st, INK_BOLD);
	if (text_width(buf_str(&safe)) > 76)
		text_put_fit(b, buf_str(&safe), 76, TEXT_LEFT, false, st->ascii);
	else
		buf_puts(b, buf_str(&safe));
	style_ink(b, st, INK_PLAIN);
	buf_putc(b, '\n');
	buf_reset(&line);
	count_head_times(&line, c);
	buf_putc(b, ' ');
	text_put_wrapped(b, buf_str(&line), 1, st->width);
	buf_putc(b, '\n');
	b->failed |= line.failed | safe.failed;
	buf_free(&line);
	buf_free(&safe);
}

void counts_put_notes(struct buf *b, const struct count_head *c, const struct style *st)
{
	for (size_t i = 0; i < c->n_notes; i++) {
		buf_putc(b, ' ');
		text_put_wrapped(b, c->notes[i], 1, st->width);
		buf_putc(b, '\n');
	}
}

static int write_term(struct buf *b, const struct counts *c, const struct counts_style *st)
{
	size_t where = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->row[i].where && strlen(c->row[i].where) > where)
			where = strlen(c->row[i].where);
	if (where > 24)
		where = 24;
	if (isnan(c->head.time)) {
		buf_putc(b, '\n');
		counts_put_head(b, &c->head, &st->style);
		buf_putc(b, '\n');
	}
	for (size_t i = 0; i < c->n; i++) {
		if (i && c->row[i].where && c->row[i - 1].where &&
		    strcmp(c->row[i].where, c->row[i - 1].where) != 0 && isnan(c->head.time))
			buf_putc(b, '\n');
		put_row(b, c, &c->row[i], where, st);
	}
	if (c->head.n_notes && isnan(c->head.time))
		buf_putc(b, '\n');
	counts_put_notes(b, &c->head, &st->style);
	return 0;
}

int counts_write(struct buf *out, const struct counts *c, const char *format,
		 const struct counts_style *st, struct err *err)
{
	static const struct {
		const char *name;
		int (*write)(struct buf *b, const struct counts *c, const struct counts_style *st);
	} formats[] = { { "term", write_term },
			{ "csv", counts_write_csv },
			{ "json", counts_write_json },
			{ "markdown", counts_write_markdown } };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(formats[i].name, format) != 0)
			continue;
		if (formats[i].write(out, c, st) || out->failed)
			return err_nomem(err);
		return 0;
	}
	return err_set(err, ERR_USAGE,
		       "counts can be written as term, csv, json and markdown, not %s", format);
}
