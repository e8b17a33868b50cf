/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page - lines for people, in the width of their screen.
 *
 * Texts from outside are made safe and cut at the width; numbers never are.
 */
#ifndef CYCLADE_SHOW_PAGE_H
#define CYCLADE_SHOW_PAGE_H

#include "base/buf.h"
#include "base/num.h"
#include "show/style.h"

struct page {
	struct buf *out;
	const struct style *st;
	struct buf text; /* scratch, to be freed */
};

void page_ink(struct page *p, enum ink i);
void page_end(struct page *p); /* of a line; without blanks at its end */
/* In so many columns, padded to them unless `last`; 0: as many as it needs. */
void page_text(struct page *p, const char *s, size_t width, bool last);
/* The same, cut at its beginning. */
void page_text_end(struct page *p, const char *s, size_t width, bool last);
/* A name and its suffix ("+0x1a") in so many columns; the name is cut, the suffix is not. */
void page_named(struct page *p, const char *name, const char *tail, size_t width);
/* Returns the rest of the width behind so many columns. */
size_t page_room(const struct page *p, size_t used);
/* " label   text that goes on in the next line"; the text is safe. */
void page_labelled(struct page *p, const char *label, const char *text, bool bad);

#endif
