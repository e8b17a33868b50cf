/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/page.h"

#include <string.h>

#include "base/text.h"

#define LABEL 17 /* columns in front of a fact's text */

void page_ink(struct page *p, enum ink i)
{
	style_ink(p->out, p->st, i);
}

void page_end(struct page *p)
{
	buf_end_line(p->out);
}

static void put_page_text(struct page *p, const char *s, size_t width, bool last, bool keep_end)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s, p->st->ascii);
	if (!width || (last && text_width(buf_str(&safe)) <= width))
		buf_puts(p->out, buf_str(&safe));
	else
		text_put_fit(p->out, buf_str(&safe), width, TEXT_LEFT, keep_end, p->st->ascii);
	p->out->failed |= safe.failed;
	buf_free(&safe);
}

void page_text(struct page *p, const char *s, size_t width, bool last)
{
	put_page_text(p, s, width, last, false);
}

void page_text_end(struct page *p, const char *s, size_t width, bool last)
{
	put_page_text(p, s, width, last, true);
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

void page_labelled(struct page *p, const char *label, const char *text, bool bad)
{
	buf_printf(p->out, " %-15s ", label);
	if (bad)
		page_ink(p, INK_WARM);
	text_put_wrapped(p->out, text, LABEL, p->st->width);
	if (bad)
		page_ink(p, INK_PLAIN);
	page_end(p);
}
