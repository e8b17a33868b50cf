/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/page.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "report/facts.h"

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
		page_labelled(p, f[i].label, f[i].text, f[i].bad);
	for (size_t i = 0; i < source->n_notes; i++) {
		buf_reset(&p->text);
		text_put_safe(&p->text, source->notes[i], p->st->ascii);
		page_labelled(p, "note", buf_str(&p->text), true);
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

const char *page_leaning(const struct flow_sums *s)
{
	return s->late ? "counts have no error bar: the event is not precise, so samples come "
			 "late, by a number of cycles that is not recorded, and more often where "
			 "the processor waits. Record with :pp, if the CPU has it for the event"
		       : "the event counts no branches, so stacks are more often of code where "
			 "the processor waits. Errors with ~ contain the difference of the halves "
			 "of stacks, not what no stack shows";
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
	if (s->leaning)
		page_fact(p, "~", true, "%s", page_leaning(s));
}

const char *page_error(char out[NUM_MAX], struct flow_value v)
{
	const char *mark = v.leans ? "~" : "";
	double share = v.half / v.v;

	if (!isfinite(share))
		(void)snprintf(out, NUM_MAX, "+-?%s", mark);
	else if (share >= 0.9995)
		(void)snprintf(out, NUM_MAX, "+-100 %%+%s", mark);
	else
		(void)snprintf(out, NUM_MAX, "+-%.1f %%%s", 100 * share, mark);
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
