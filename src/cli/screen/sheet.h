/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sheet - which columns of a table stand on the screen, where, and what is in their cells.
 *
 *	sheet_measure(&s, pager, top, lines, &err)	widens columns to what is in these lines
 *	sheet_arrange(&s, t, width)			before anything is put
 *	sheet_head(&s, &b, t, i, line)			s.n columns, s.heads lines
 *	sheet_cell(&s, &b, ...)
 *
 * Widths grow while new lines are seen, so that nothing jumps while they are scrolled through.
 * Numbers and bars are never cut. Where the line is too short, texts are, and columns are left out
 * if the lead would get less than it needs: texts that are the same in all rows, then those with
 * C_DROP, the last one first (these also where other texts would lose words), then those that
 * neither name a row nor have its share. `left` scrolls
 * to them: so many columns are passed over, and none is left out but for want of room. Knows no
 * terminal, but for sheet_draw.c.
 */
#ifndef CYCLADE_CLI_SHEET_H
#define CYCLADE_CLI_SHEET_H

#include "cli/screen/pager.h"
#include "show/style.h"

enum { SHEET_COLUMNS = 256, SHEET_HEADS = 3 };

struct sheet {
	bool ascii; /* nothing beyond ASCII */
	bool all;   /* columns for programs, too */
	size_t left;
	/* what was seen so far, by column of the table */
	struct {
		unsigned width, error;
		bool has;     /* a value */
		bool differs; /* from row to row */
		bool any;
		uint64_t hash; /* of the last one's text */
	} seen[SHEET_COLUMNS];
	/* what stands on the screen */
	size_t n, out; /* out: columns that there is no room for */
	unsigned heads;
	struct sheet_column {
		size_t column; /* of the table */
		unsigned at, width, error;
	} on[SHEET_COLUMNS];
};

int sheet_measure(struct sheet *s, struct pager *p, size_t top, size_t lines,
		  struct err *err) MUST_USE;
void sheet_arrange(struct sheet *s, const struct pager *p, unsigned width);
/* A line of a column's head, as wide as the column. */
void sheet_head(const struct sheet *s, struct buf *out, const struct table *t, size_t i,
		unsigned line);
/* The cell as wide as its column, safe for terminals, and the colour that it asks for. */
enum ink sheet_cell(const struct sheet *s, struct buf *out, const struct pager *p, size_t i,
		    size_t line, const struct table_row *r);
/* The column of a table that names its rows best: the tree's, or the one that is cut first.
 * SIZE_MAX: it has no text. */
size_t sheet_lead(const struct table *t);
/* Whether a text of this column is cut on the screen, or has no room there at all. */
bool sheet_cuts(const struct sheet *s, const struct table *t, size_t column, const char *text);
/* The columns that are left out of what people see. */
unsigned sheet_not_flags(const struct sheet *s);
/* A column by its key; SIZE_MAX. */
size_t sheet_find(const struct table *t, const char *key);

/* On the screen, from line `at` on: s.heads lines, with a mark at the column that is sorted by
 * (SIZE_MAX: none); a row, in reverse if it is the chosen one. */
void sheet_draw_heads(const struct sheet *s, const struct table *t, unsigned at, size_t sort,
		      bool reverse);
void sheet_draw_row(const struct sheet *s, const struct pager *p, unsigned at, size_t line,
		    const struct table_row *r, bool chosen);

#endif
