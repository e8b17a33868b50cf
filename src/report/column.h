/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * column - the columns of a report's row: names, headers, widths, and how to get the value.
 *
 *	keys_parse(&opts, &by_event, "dso,function", &err)	-s: the keys of rows
 *	columns_parse(&list, default, "+period,-error", &err)	--fields
 *	column_table[id].show			a column of a table, its getter included
 *
 * column.def is the table behind all of it.
 */
#ifndef CYCLADE_REPORT_COLUMN_H
#define CYCLADE_REPORT_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "base/err.h"
#include "base/text.h"
#include "show/table.h"

enum column_id {
#define PROFILE_COLUMN(id, ...) COL_##id,
#include "report/profile/column.def"
#undef PROFILE_COLUMN
	COL_COUNT
};

/* Beside the flags of a table's columns, and behind the last of them. */
enum {
	COLUMN_WEIGHT = 1 << 24, /* has a value for each event */
	COLUMN_BAR = 1 << 25,	 /* the error of the column before it */
	COLUMN_FRAME = 1 << 26,	 /* a key that frames of call chains have */
	COLUMN_OWN = COLUMN_WEIGHT | COLUMN_BAR | COLUMN_FRAME,
};

enum column_of { /* the reports that have it; of a key: the reports whose -s takes it */
		 COLUMN_OF_ALL,
		 COLUMN_OF_SAMPLES,
		 COLUMN_OF_BRANCHES,
		 COLUMN_OF_TOPDOWN,   /* of a sampled group of slots */
		 COLUMN_OF_TOPDOWN_2, /* of one with level 2 */
		 COLUMN_OF_MEMORY,    /* rows that are groups of mem (view_latency.h) */
		 COLUMN_OF_CALLS,
		 COLUMN_OF_TREE,
};

struct column {
	struct table_column show; /* without fields of certain reports; .which is a key's */
	const char *words;     /* taken for it, the name first; each ends in \0, all in one more */
	unsigned width, flags; /* width: for people, at least */
	enum column_of of;
};

extern const struct column column_table[COL_COUNT];

struct column_list {
	enum column_id id[COL_COUNT];
	size_t n;
};

/* Returns true if --fields adds a column of latencies. */
bool columns_want_latency(const char *fields);

struct view;
struct view_row;

/* Columns of a table of view_row, whose context is the view: in table_row.at[0] is the number of
 * the view's table, in table_column.nth that of the event within it. Without such a table, the cell
 * is that of the first event. */
struct table_cell column_cell(enum column_id id, const struct view *v, size_t table,
			      const struct view_row *r, struct buf *scratch);

/* The keys of -s into opts->key; NULL is "dso,function": a function is one row, whatever threads it
 * runs in. `event` is no key of the profile: it only asks for a table per event, and sets
 * *by_event. */
int keys_parse(struct profile_opts *opts, bool *by_event, const char *list,
	       struct err *err) MUST_USE;
/* Returns true if -s has a key that only branches have (function_from). */
bool keys_of_branches(const char *list);
enum column_id column_of_key(enum profile_key key);

/* "a,b,c" replaces *list, "+a,-b" edits it; NULL leaves it. `allowed` has the keys of the rows;
 * another key is refused with the hint to sort by it. */
int columns_parse(struct column_list *list, const char *fields,
		  bool (*allowed)(void *ctx, enum column_id id), void *ctx,
		  struct err *err) MUST_USE;

#endif
