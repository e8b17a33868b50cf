/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * column - what can stand in a report's row: names, headers, widths, and how to get the value.
 *
 *	keys_parse(&opts, &by_event, "comm,dso,function", &err)	-s: what rows are told apart by
 *	columns_parse(&list, default, "+period,-error", &err)	--fields
 *	column_get(id, ...)					a cell; sinks write it by its kind
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

enum column_id {
#define PROFILE_COLUMN(id, name, alias, header, align, width, flags, get) COL_##id,
#include "report/profile/column.def"
#undef PROFILE_COLUMN
	COL_COUNT
};

enum { COLUMN_WEIGHT = 1, COLUMN_FLEX = 2, COLUMN_KEY = 4, COLUMN_KEEP_END = 8 };

struct column {
	const char *name;
	const char *words; /* taken for it, the name first; each ends in \0, all in one more */
	const char *header;
	enum text_fit align;
	unsigned width, flags;
};

extern const struct column column_table[COL_COUNT];

struct column_list {
	enum column_id id[COL_COUNT];
	size_t n;
};

enum cell_kind {
	CELL_NONE,   /* has no value here: empty, or null */
	CELL_TEXT,   /* from outside: to be escaped */
	CELL_NUMBER, /* an identity: pid, cpu */
	CELL_COUNT,  /* a quantity */
	CELL_HEX,
	CELL_SHARE, /* a fraction; NaN: cannot be told */
	CELL_ERROR, /* half the width of the 95 % interval, a fraction */
};

struct cell {
	enum cell_kind kind;
	const char *text;
	uint64_t number;
	double real;
};

struct view;
struct view_table;
struct view_row;

/* `event` counts within the table's events. */
struct cell column_get(enum column_id id, const struct view *v, const struct view_table *t,
		       const struct view_row *r, size_t event);

/* The keys of -s into opts->key; NULL is "comm,dso,function". `event` is no key of the profile: it
 * only asks for a table per event, and *by_event says so. */
int keys_parse(struct profile_opts *opts, bool *by_event, const char *list,
	       struct err *err) MUST_USE;
enum column_id column_of_key(enum profile_key key);

/* "a,b,c" replaces *list, "+a,-b" edits it; NULL leaves it. `allowed` tells which keys the rows
 * have; another key is refused with the hint to sort by it. */
int columns_parse(struct column_list *list, const char *fields,
		  bool (*allowed)(void *ctx, enum column_id id), void *ctx,
		  struct err *err) MUST_USE;

#endif
