/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pager - a table as lines to move through, however many rows it has.
 *
 *	p = pager_open(&table)
 *	while (!pager_index(p, 10000))		as far as wanted: pager_lines() grows
 *	pager_row(p, line, &row)		then table_cell() of the table's columns
 *	pager_sort(p, column, reverse)		and back: pager_sort(p, PAGER_UNSORTED, false)
 *	pager_find(p, text, from, ...), then pager_find_step() until it is not PAGER_MORE
 *	pager_close(p)
 *
 * Rows are asked for when they are shown. The index has a cursor for every 64th row, so that a line
 * costs at most 63 steps of the table's next(), and a table that is an array needs none. It is made
 * in steps, because a table with next() does not know its length.
 *
 * A table with columns `id` and `parent` is a tree: only rows below unfolded ones are lines. It is
 * indexed whole when it is opened, as is any table that is sorted: 12 and 4 bytes for each row.
 * A parent is a row above its children; an id that is not there, or is below, is no parent.
 *
 * Does not draw; knows no terminal. The table must outlive the pager.
 */
#ifndef CYCLADE_CLI_PAGER_H
#define CYCLADE_CLI_PAGER_H

#include "base/err.h"
#include "show/layout.h"

#define PAGER_UNSORTED SIZE_MAX
#define PAGER_NO_LINE  SIZE_MAX

struct pager;

struct pager *pager_open(const struct table *t);
void pager_close(struct pager *p); /* NULL is fine */
const struct table *pager_table(const struct pager *p);

/* Indexes `rows` more. Returns whether these were the last. */
bool pager_index(struct pager *p, size_t rows);
/* Lines that are known; *all: that is how many there are. */
size_t pager_lines(const struct pager *p, bool *all);
/* The row of a line; false: there is no such line. Indexes as far as it must. */
bool pager_row(struct pager *p, size_t line, struct table_row *r);
/* The line of the row with this number (table_row.i); PAGER_NO_LINE: it is folded away. */
size_t pager_line_of(const struct pager *p, size_t row);

/* Sorts by a column's values: amounts from the largest down, names, numbers that name and addresses
 * upwards, `reverse` the other way; rows without a value stand last. In a tree, siblings are
 * sorted. */
void pager_sort(struct pager *p, size_t column, bool reverse);

/* ---- trees ----------------------------------------------------------------------------------- */

bool pager_is_tree(const struct pager *p);
struct layout_place pager_place(const struct pager *p, size_t line);
void pager_fold(struct pager *p, size_t line, bool open);
void pager_fold_all(struct pager *p, bool open);
/* The line of the row above it in the tree; PAGER_NO_LINE. */
size_t pager_parent(const struct pager *p, size_t line);
/* Unfolds from the first root down the first child of each: the heaviest path of a sorted tree. */
void pager_unfold_first(struct pager *p, size_t line);

/* ---- finding --------------------------------------------------------------------------------- */

enum pager_found { PAGER_FOUND, PAGER_NOWHERE, PAGER_MORE };

/* Begins to search for an extended regular expression, without regard to case unless it has capital
 * letters, in the cells as people read them of columns that are none of `not_flags`. From the line
 * after (or before) `from`, around the end, `from` itself last. A tree's folded rows are searched,
 * too. */
int pager_find(struct pager *p, const char *what, size_t from, bool backwards, unsigned not_flags,
	       struct err *err) MUST_USE;
/* Looks at `rows` rows more. PAGER_FOUND: *line is it, unfolded if it was not. */
enum pager_found pager_find_step(struct pager *p, size_t rows, size_t *line);
/* How much of the table is done. */
double pager_find_done(const struct pager *p);

#endif
