/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/facts.h"

#define LABEL 17 /* columns in front of a fact's text */

void page_ink(struct page *p, enum ink i)
{
	style_ink(p->out, p->st, i);
}

void page_end(struct page *p)
{
	buf_end_line(p->out);
}

void page_text(struct page *p, const char *s, size_t width, bool last)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s, p->st->ascii);
	if (!width || (last && text_width(buf_str(&safe)) <= width))
		buf_puts(p->out, buf_str(&safe));
	else
		text_put_fit(p->out, buf_str(&safe), width, TEXT_LEFT, false, p->st->ascii);
	p->out->failed |= safe.failed;
	buf_free(&safe);
}

void page_named(struct page *p, const char *name, const char *tail, size_t width)
{
	struct buf safe = BUF_INIT;
	size_t behind = strlen(tail), before;

	text_put_safe(&safe, name, p->st->ascii);
	before = text_width(buf_str(&safe));
	if (before + behind > width && behind + 3 <= width) {
		text_put_fit(p->out, buf_str(&safe), width - behind, TEXT_LEFT, false,
			     p->st->ascii);
		buf_puts(p->out, tail);
	} else {
		buf_puts(&safe, tail);
		text_put_fit(p->out, buf_str(&safe), width, TEXT_LEFT, false, p->st->ascii);
	}
	p->out->failed |= safe.failed;
	buf_free(&safe);
}

size_t page_room(const struct page *p, size_t used)
{
	size_t width = p->st->width ? p->st->width : 100;

	return width > used + 8 ? width - used : 8;
}

static void put_wrapped(struct page *p, const char *label, const char *text, bool bad)
{
	buf_printf(p->out, " %-15s ", label);
	if (bad)
		page_ink(p, INK_WARM);
	text_put_wrapped(p->out, text, LABEL, p->st->width);
	if (bad)
		page_ink(p, INK_PLAIN);
	page_end(p);
}

void page_fact(struct page *p, const char *label, bool bad, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_wrapped(p, label, text, bad);
}

void page_head(struct page *p, const struct view_source *source)
{
	const struct view v = { .source = *source };
	struct buf line = BUF_INIT;

	fact_command(&line, &v, p->st->ascii);
	buf_putc(p->out, ' ');
	page_ink(p, INK_BOLD);
	page_text(p, buf_str(&line), page_room(p, 1), true);
	page_ink(p, INK_PLAIN);
	page_end(p);
	buf_reset(&line);
	fact_machine(&line, &v, p->st->ascii);
	buf_putc(p->out, ' ');
	page_ink(p, INK_DIM);
	page_text(p, buf_str(&line), page_room(p, 1), true);
	page_ink(p, INK_PLAIN);
	page_end(p);
	p->out->failed |= line.failed;
	buf_free(&line);
}

void page_recording(struct page *p, const struct view_source *source)
{
	const struct view v = { .source = *source };
	struct fact f[FACTS_MAX];
	size_t n = facts_of_recording(&v, f);

	for (size_t i = 0; i < n; i++)
		put_wrapped(p, f[i].label, f[i].text, f[i].bad);
	for (size_t i = 0; i < source->n_notes; i++) {
		buf_reset(&p->text);
		text_put_safe(&p->text, source->notes[i], p->st->ascii);
		put_wrapped(p, "note", buf_str(&p->text), true);
	}
}

uint64_t page_other_samples(const struct view_source *source)
{
	uint64_t n = 0;

	for (size_t i = 0; i < source->n_events; i++)
		if (!(source->event[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
			n += source->event[i].samples;
	return n;
}

void page_stacks(struct page *p, const struct view_source *source, const struct flow_sums *s)
{
	/* those of a type that is not known are counted as bad, and are of no event */
	uint64_t others = page_other_samples(source);
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	if (others > s->left_out)
		others = s->left_out;
	page_fact(p, "samples", false, "%s, %s with branches, %s without%s",
		  num_exact(a, s->samples - others), num_exact(b, s->stacks),
		  num_exact(c, s->empty), s->user_only ? "; branches of user space only" : "");
	if (others)
		page_fact(p, "others", false, "%s samples of events without branch stacks",
			  num_exact(a, others));
	if (s->left_out > others)
		page_fact(p, "left out", false, "%s samples, by options",
			  num_exact(a, s->left_out - others));
	if (s->bad)
		page_fact(p, "unreadable", true, "%s samples", num_exact(a, s->bad));
}

const char *page_error(char out[NUM_MAX], struct flow_value v)
{
	double share = v.half / v.v;

	if (!isfinite(share))
		(void)snprintf(out, NUM_MAX, "+-?");
	else if (share >= 0.9995)
		(void)snprintf(out, NUM_MAX, "+-100 %%+");
	else
		(void)snprintf(out, NUM_MAX, "+-%.1f %%", 100 * share);
	return out;
}

const char *page_estimate(char out[NUM_MAX], double v)
{
	if (v >= 0 && v < 99.5)
		(void)snprintf(out, NUM_MAX, "%.3g", v);
	else
		(void)num_count(out, v < 1e6 ? round(v) : v);
	return out;
}

const char *page_share(char out[NUM_MAX], double v)
{
	if (isnan(v))
		(void)snprintf(out, NUM_MAX, "-");
	else
		(void)num_percent(out, v);
	return out;
}
