/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * browse_pages - other content as tables: a table of one row with a line for each of its columns; a
 * document's notes; the keys.
 */
#ifndef CYCLADE_CLI_BROWSE_PAGES_H
#define CYCLADE_CLI_BROWSE_PAGES_H

#include "show/document.h"

struct page_line {
	const char *label, *text; /* label NULL: goes on the line above */
};

/* A table of one row on its side. Both tables must outlive it. */
struct table page_record(const struct table *one);

/* Titles, facts, notes, losses that are not 0 and commands of a document, broken into lines of this
 * width. The lines are in the arena. */
struct table page_about(const struct document *d, unsigned width, struct arena *a);
struct table page_nothing(void); /* the same without a line */
struct table page_keys(void);

/* "lost 12, throttled 3", "no losses"; nothing if the document cannot know. */
void page_put_losses(struct buf *out, const struct document *d);

#endif
