/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - a table as lines of columns: which columns stand in a line and how wide, how names and
 * paths are shortened, the lines of trees, and colours. For reports on a terminal (format_term.c)
 * and for screens (cli/screen); nothing else computes the width of a column (ci/rooms.py).
 *
 *	layout_open(&l, t)			or all 0, and l.t = t
 *	layout_see(&l, &row, NULL)		each row that is shown: columns widen
 *	layout_fit(&l, width)			again after rows were seen, or if the width changed
 *	layout_head(&l, &line, i, k)		l.n columns, l.heads lines
 *	layout_cell(&l, &line, i, &row, ...)	each row again, in the order in which it was seen
 *	layout_close(&l) after layout_open()
 *
 * Numbers and bars are never cut, but by a screen's end. If the line is too long, texts are cut
 * (C_FLEX; on a screen all texts), or columns are left out (C_DROP).
 *
 * A screen (l.screen) shows a part of the rows: widths only grow, so that nothing jumps when others
 * are scrolled to. Columns are left out if the lead would get less than it needs: first texts that
 * are the same in all rows, then those with C_DROP, the last one first, then those that neither
 * name a row nor have its share. With l.left, so many columns are passed over.
 *
 * Costs: a cell is made once when it is seen and once when it is put. After layout_open() names are
 * remembered, so that no two look alike when they are cut (show/fold.h); else each is cut by
 * itself.
 */
#ifndef CYCLADE_SHOW_LAYOUT_H
#define CYCLADE_SHOW_LAYOUT_H

#include "show/style.h"
#include "show/table.h"

enum { LAYOUT_COLUMNS = 256, LAYOUT_HEADS = 3, LAYOUT_DEPTH = 16 };

/* A line of a tree on a screen, where rows are folded and unfolded. */
struct layout_place {
	unsigned depth;	  /* to be indented by: a single child stands as its parent does */
	bool opens, open; /* has rows below it; shows them */
	bool last;	  /* no sibling below */
};

struct folds;
struct layout {
	const struct table *t;
	bool ascii; /* nothing beyond ASCII */
	bool screen;
	bool tree;   /* on a screen: lines have places */
	bool all;    /* columns for programs, too */
	size_t left; /* columns passed over */
	/* widths seen so far, by column of the table */
	struct layout_seen {
		unsigned width, error;
		unsigned tail; /* of cells that spill, whose column is never cut below it */
		bool has;      /* a value */
		bool differs;  /* from row to row */
		bool any;
		uint64_t hash; /* of the last one's text */
	} seen[LAYOUT_COLUMNS];
	struct folds *names;	     /* the same; NULL: each by itself */
	bool more[LAYOUT_DEPTH + 1]; /* of a tree that is drawn: siblings follow at this level */
	/* columns of a line */
	size_t n, out; /* out: columns that there is no room for */
	unsigned heads;
	bool over; /* a line above the heads: table_column.over */
	struct layout_column {
		size_t column; /* of the table */
		unsigned at, width, error;
	} on[LAYOUT_COLUMNS];
};

void layout_open(struct layout *l, const struct table *t, bool ascii);
/* `out`, which has the lines, fails if memory ran out. */
void layout_close(struct layout *l, struct buf *out);

/* `place`: of a screen's tree; NULL: none. */
void layout_see(struct layout *l, const struct table_row *r, const struct layout_place *place);
void layout_fit(struct layout *l, unsigned width); /* 0: no bound */
/* Returns the width of columns and the blanks between them. */
unsigned layout_width(const struct layout *l);

/* The line above the heads; if l->over. */
void layout_over(const struct layout *l, struct buf *out);
/* A line of a column's head, as wide as the column. */
void layout_head(const struct layout *l, struct buf *out, size_t i, unsigned line);
/* The cell as wide as its column, safe for terminals. With `st`, colours are put, and the last
 * column has no blanks behind it; NULL: the colour that the cell asks for is returned. */
enum ink layout_cell(struct layout *l, struct buf *out, const struct style *st, size_t i,
		     const struct table_row *r, const struct layout_place *place);

/* Returns the column of a table that names its rows best: the tree's, or the one that is cut first.
 * SIZE_MAX: it has no text. */
size_t layout_lead(const struct table *t);
/* Returns true if a text of this column is cut, or has no room at all. */
bool layout_cuts(const struct layout *l, size_t column, const char *text);
/* Returns the flags of columns that are not shown. */
unsigned layout_not_flags(const struct layout *l);

#endif
