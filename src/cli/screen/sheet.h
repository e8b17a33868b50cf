/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sheet - a table on the screen: lines of a pager, laid out by show/layout.h; one of them is
 * chosen. Shared by browse and top.
 *
 *	s.table = ...; sheet_open(&s)
 *	sheet_draw(&s, at, lines, columns)
 *	sheet_move(&s, 1), sheet_click(&s, line, column), ...	actions of keys
 *	sheet_close(&s)					order, columns and place are kept
 *
 * A table whose rows are others now is closed and opened again.
 */
#ifndef CYCLADE_CLI_SHEET_H
#define CYCLADE_CLI_SHEET_H

#include "cli/screen/pager.h"
#include "show/layout.h"

struct sheet {
	struct table table;
	struct pager *pager; /* NULL: it is closed */
	struct layout l;
	size_t top, line; /* of the screen; chosen */
	size_t sort;	  /* column; PAGER_UNSORTED */
	bool reverse;
	unsigned at, rows; /* lines of the screen: of the first row; for how many there is room */
};

void sheet_open(struct sheet *s);
void sheet_close(struct sheet *s);
/* Order, columns and place as in the beginning. */
void sheet_reset(struct sheet *s);
/* Columns for programs, or those for people again. */
void sheet_columns(struct sheet *s);

/* Heads and rows from line `at` of the screen on, in so many lines. */
void sheet_draw(struct sheet *s, unsigned at, unsigned lines, unsigned columns);
/* "3 of 1,000  2 more columns >" */
void sheet_put_place(struct buf *out, const struct sheet *s);

/* Moves if the key is one of sheet_keys.def. */
bool sheet_key(struct sheet *s, int key);
void sheet_move(struct sheet *s, long by); /* LONG_MAX: to the last row */
void sheet_page(struct sheet *s, int by);
void sheet_scroll(struct sheet *s, int by); /* columns */
void sheet_sort(struct sheet *s, size_t column, bool reverse);
/* To the next column that stands, or the one before; between the last and the first of them is the
 * table's own order. */
void sheet_step_sort(struct sheet *s, int by);
/* Chooses the row, or sorts by the column whose head it is. Returns whether the row was the chosen
 * one already. */
bool sheet_click(struct sheet *s, unsigned line, unsigned column);

/* A column by its key; SIZE_MAX. */
size_t sheet_find(const struct table *t, const char *key);

#endif
