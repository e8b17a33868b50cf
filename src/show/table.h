/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table - the rows and columns of a result, before it has a format.
 *
 * A table has columns and rows. Its form (name, columns, keys) is static: formats, a database's
 * schema and the manual read it without any rows. Rows are walked with a cursor and cells are asked
 * for one by one, so that memory does not grow with rows. A table is walked more than once: next()
 * and get() must answer the same each time.
 *
 * Name and keys are for programs and stay: csv's header, json's members, a database's tables and
 * columns. Title and heads are for people. One thing has one key in all results: host, function,
 * dso, address, file, line, event, samples, period, share.
 *
 * Rows are flat. A row that belongs to a row of another table repeats that row's C_KEY columns
 * (a block has its function's dso and function), and a row of a tree has its id and its parent's:
 * csv, json, SQL and a comparison of two results then have the same rows.
 *
 * A cell's value has an error bar (half its 95 % interval), or the reason why it has none.
 */
#ifndef CYCLADE_SHOW_TABLE_H
#define CYCLADE_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/estimate.h"

enum table_kind {
	T_TEXT,	   /* .text, from outside: formats escape it; then .tail, which is never cut off */
	T_LIST,	   /* .list: several texts */
	T_ID,	   /* .n: names something (a pid, a CPU, a line) */
	T_COUNT,   /* .n: how many, exactly */
	T_SIGNED,  /* .i */
	T_ADDRESS, /* .n: text "0x1f" for programs */
	T_BYTES,   /* .n */
	T_FLAG,	   /* .n: yes or no */
	T_AMOUNT,  /* .e: how many, measured or estimated; people see its error in % of it */
	T_REAL,	   /* .e: a figure of a few digits; people see its error in its own unit */
	T_SHARE,   /* .e: a fraction; people see % and an error in points */
	T_SECONDS, /* .e */
};

enum {
	C_KEY = 1,	 /* these together name a row: by them two results are joined */
	C_ERROR = 2,	 /* has an error: for programs one more column KEY_error */
	C_WHY = 4,	 /* for programs one more column KEY_why: why no value, else why no error */
	C_FLEX = 8,	 /* takes the width that is left, and is cut first */
	C_KEEP_END = 16, /* is cut at its beginning: a path */
	C_HEAT = 32,	 /* coloured by its share */
	C_DATA = 64,	 /* for programs only */
	C_PEOPLE = 128,	 /* for people only: made of other columns */
	C_SPARSE = 256,	 /* people are not shown it if none of their rows has a value */
	C_LOSS = 1024,	 /* of a table of one row: not 0 must be seen; `means` names the loss */
	C_CUT = 2048,	 /* with C_FLEX: is cut at its end: a line of text, no name */
	C_GROUP = 512,	 /* for people: a line above each run of rows that have the same text */
	C_TOTAL = 8192,	 /* only grows while it is watched: a counter of OpenMetrics */
	C_RATE = 16384,	 /* a C_TOTAL column by time: OpenMetrics leaves it out */
	C_0_IS_NONE = 32768,   /* 0, or an empty text, is no value */
	C_MAX_IS_NONE = 65536, /* all bits set is no value: CODE_NONE, IMAGE_NONE, MODEL_NONE */
	C_DROP = 4096,	       /* on a narrow terminal left out, the last one first */
};

struct table_cell {
	enum table_kind kind; /* the column's; get() may change it for a row */
	bool none;	      /* no value: empty, null; .e.why has the reason */
	const char *text, *tail;
	const char *const *list;
	size_t n_list;
	uint64_t n;
	int64_t i;
	struct estimate e;
	const char *says; /* text for people if there is no value; NULL: "-" */
	char mark;	  /* people see it behind the error; 0: none */
	unsigned indent;  /* levels that people see a text indented by */
	enum table_branch {
		BRANCH_NONE, /* blanks stand in front of it */
		BRANCH_ONLY, /* lines of a tree: the only row below the one above */
		BRANCH_MORE, /* siblings follow */
		BRANCH_LAST,
	} branch;
	bool spills;	     /* people see the tail past its column if none follows */
	bool sign;	     /* a change: people see a + if it is not below 0 */
	bool dim;	     /* of less weight than other rows */
	struct buf *scratch; /* empty; get() may put the text together in it */
};

struct table;
struct table_column;

/* The position of a walk. All 0: before the first row. */
struct table_row {
	const void *p; /* data of the cells */
	size_t i;      /* of the row, from 0; kept by table_next() */
	size_t at[3];  /* next()'s own */
};

/* Fills *out, in which numbers are 0, texts NULL and estimates NAN before. A NULL text and a NAN
 * estimate are no value. */
typedef void table_get(const struct table *t, const struct table_column *c,
		       const struct table_row *r, struct table_cell *out);

/*
 * Where a value lies: get() is needed only for what is computed. From the row or the table's ctx,
 * `n_via` pointers are followed; behind one that is NULL there is no value.
 */
struct table_field {
	enum table_type {
		F_NONE,
		F_U8,
		F_U16,
		F_U32,
		F_U64,
		F_I32,
		F_I64,
		F_DOUBLE,
		F_TEXT,
		F_CHARS, /* an array of char */
		F_ESTIMATE,
		F_LIST, /* texts; `more`: how many, a size_t */
		F_PAIR, /* a double and, at `more`, its error */
	} type;
	bool of_ctx;
	uint8_t n_via;
	uint16_t via[2], at, more;
};

struct table_column {
	const char *key;  /* for programs */
	const char *head; /* for people; lines end in \n */
	enum table_kind kind;
	unsigned flags;
	const char *unit;  /* "cycles", "Hz"; NULL: a plain number, or another column has it */
	const char *means; /* a line */
	unsigned least;	   /* width for people: the same in all intervals, whose figures differ */
	struct table_field field; /* .type 0: get() makes the value */
	/* T_TEXT: what the field's number is called; NULL and beyond the array: no value. */
	struct table_names {
		const char *const *v;
		uint16_t n, stride;
	} names;
	const char *(*name_of)(unsigned number); /* the same; number: an enum */
	table_get *get;				 /* after the field was read */
	size_t which;				 /* get()'s own */
	size_t nth;	  /* of several columns that are alike: of which thing */
	const char *over; /* people see it above neighbours that have the same: that thing's name */
	const char
		*from; /* the field of the recording that it is read from; NULL: it is computed */
};
/* clang-format off */
/*
 * A column's field, by type: integers (in T_SECONDS: ns), double, struct estimate, char *, char[];
 * others do not compile, and table_check() refuses those that the column's kind does not take.
 *
 *	TABLE_FIELD(struct row, cycles)		row->cycles; also a member's member: n.cycles
 *	TABLE_FIELD(struct row, symbol, name)	row->symbol->name
 *	TABLE_FIELD(struct row, f, symbol, name)	row->f->symbol->name
 *	TABLE_CTX(struct view, ...)		the same, from the table's ctx
 *	TABLE_ROW(type)				the row itself is the value
 *	TABLE_LIST(struct row, names, n)	of T_LIST
 *	TABLE_PAIR(struct row, v, half)		a value and its error
 */
#define TABLE_FIELD(type, ...) .field = { FIELD_(type, __VA_ARGS__) }
#define TABLE_CTX(type, ...) .field = { FIELD_(type, __VA_ARGS__), .of_ctx = true }
#define TABLE_ROW(t_) .field = { .type = FIELD_TYPE_(*(t_ *)0) }
#define TABLE_LIST(t_, v_, n_) \
	.field = { .type = _Generic(((t_ *)0)->v_, char **: F_LIST, const char **: F_LIST, \
				    const char *const *: F_LIST), \
		   .at = offsetof(t_, v_), \
		   .more = offsetof(t_, n_) + 0 * _Generic(((t_ *)0)->n_, size_t: 1) }
#define TABLE_PAIR(t_, v_, half_) \
	.field = { .type = _Generic(((t_ *)0)->v_, double: F_PAIR), .at = offsetof(t_, v_), \
		   .more = offsetof(t_, half_) + 0 * _Generic(((t_ *)0)->half_, double: 1) }
#define TABLE_NAMES(a) .names = { &(a)[0], sizeof(a) / sizeof(*(a)), sizeof(*(a)) }
#define TABLE_NAMES_OF(a, member) \
	.names = { &(a)[0].member, sizeof(a) / sizeof(*(a)), sizeof(*(a)) }
#define FIELD_(type, ...) \
	FIELD_PICK_(__VA_ARGS__, FIELD_3_, FIELD_2_, FIELD_1_, )(type, __VA_ARGS__)
#define FIELD_PICK_(a, b, c, name, ...) name
#define FIELD_1_(t_, m_) .type = FIELD_TYPE_(((t_ *)0)->m_), .at = offsetof(t_, m_)
#define FIELD_2_(t_, a_, m_) \
	.type = FIELD_TYPE_(((t_ *)0)->a_->m_), .n_via = 1, .via = { offsetof(t_, a_) }, \
	.at = offsetof(__typeof__(*((t_ *)0)->a_), m_)
#define FIELD_3_(t_, a_, b_, m_) \
	.type = FIELD_TYPE_(((t_ *)0)->a_->b_->m_), .n_via = 2, \
	.via = { offsetof(t_, a_), offsetof(__typeof__(*((t_ *)0)->a_), b_) }, \
	.at = offsetof(__typeof__(*((t_ *)0)->a_->b_), m_)
#define FIELD_TYPE_(x) \
	_Generic((x), bool: F_U8, uint8_t: F_U8, uint16_t: F_U16, uint32_t: F_U32, \
		 uint64_t: F_U64, int32_t: F_I32, int64_t: F_I64, double: F_DOUBLE, \
		 char *: FIELD_TEXT_(x), const char *: FIELD_TEXT_(x), struct estimate: F_ESTIMATE)
#define FIELD_TEXT_(x) \
	_Generic(&(x), char **: F_TEXT, const char **: F_TEXT, const char *const *: F_TEXT, \
		 char *const *: F_TEXT, default: F_CHARS)
/* A column: key, head, kind, flags, means, then its other fields (TABLE_FIELD, .get, .unit). */
#define COLUMN(key_, head_, kind_, flags_, means_, ...) \
	{ .key = key_, .head = head_, .kind = kind_, .flags = flags_, .means = means_, __VA_ARGS__ }
/* The head of a get(), which need not use them all, and a get() of one statement. */
#define MAYBE_ __attribute__((unused))
#define TABLE_GET(name) \
	static void name(const struct table *t MAYBE_, const struct table_column *c MAYBE_, \
			 const struct table_row *r MAYBE_, struct table_cell *out)
#define TABLE_CELL(name, ...) \
	TABLE_GET(name) { __VA_ARGS__; }
/* A get() that other get()s call has a short name for the row, or for the table's ctx. */
#define TABLE_ROW_AS(name, type) \
	static const type *name(const struct table_row *r) { return r->p; }
#define TABLE_CTX_AS(name, type) \
	static const type *name(const struct table *t) { return t->ctx; }
/* Rows of an array: form, ctx (or NULL), array, n; then other members of struct table. */
#define TABLE_OF(form_, ctx_, rows_, ...) \
	((struct table){ .form = &(form_), .ctx = (ctx_), .array = (rows_), \
			 .stride = sizeof(*(rows_)), .n = __VA_ARGS__ })
#define TABLE_COLUMNS(a) .column = (a), .n_columns = sizeof(a) / sizeof(*(a))
/* clang-format on */

enum {
	TABLE_MAIN = 1,	   /* the one that csv has if --table does not name another */
	TABLE_ONE = 2,	   /* has one row: json has an object */
	TABLE_HEAD = 4,	   /* the same, and its members are the document's own */
	TABLE_LINES = 8,   /* has one column of texts: json has an array of them */
	TABLE_DATA = 16,   /* for programs only: people read its facts */
	TABLE_PEOPLE = 32, /* for people only: rows of another table in another order */
	TABLE_GROWS = 64,  /* has more columns than its form: those of the recording */
};

struct table_form {
	const char *name, *title; /* title: NULL: none is needed */
	unsigned flags;
	const struct table_column *column;
	size_t n_columns;
	/* Moves to the next row, which it puts in r->p; false: there is none. NULL: rows are an
	 * array. */
	bool (*next)(const struct table *t, struct table_row *r);
	const char *rest; /* "edge": people read "(3 more edges)" */
};

struct table {
	const struct table_form *form;
	const void *ctx;
	const void *array; /* rows, if the form has no next() */
	size_t stride, n;
	const char *title;		   /* NULL: the form's */
	size_t people;			   /* so many rows for people, then how many more; 0: all */
	bool data_only;			   /* this time it is for programs only */
	bool aside;			   /* this time it is not the main one */
	uint64_t hidden;		   /* bit by column: the result has nothing for it */
	const struct table_column *column; /* columns known only now; NULL: the form's */
	size_t n_columns;
};

/* Goes to the next row. Returns false if there is none. */
bool table_next(const struct table *t, struct table_row *r);
/* A cell of it; `scratch` is emptied, and holds its text until the next cell. */
void table_cell(struct table_cell *out, const struct table *t, const struct table_column *c,
		const struct table_row *r, struct buf *scratch);
const struct table_column *table_columns(const struct table *t, size_t *n);
/* Returns true if the column is not excluded by `not` (C_DATA or C_PEOPLE). */
bool table_has(const struct table *t, size_t column, unsigned not_flags);
size_t table_rows(const struct table *t);
/* Returns true for names, of which the parts matter that others do not have (fold.h): no path, no
 * line of text. */
bool table_names_things(const struct table_column *c);
/* Returns true for C_SPARSE, if no row that people see has a value. */
bool table_empty(const struct table *t, size_t column);
/* For table.people: rows while the column is `small` or more, but `least`, and `most` at most. */
size_t table_enough(const struct table *t, size_t column, size_t least, size_t most, double small);
/* Fails in a build with asserts: keys are unique, names are fit for SQL, TABLE_ONE is one row. */
void table_check(const struct table *t);

/* Returns the title above a table, or NULL. */
const char *table_title(const struct table *t);

/* A text made by get(). */
void cell_printf(struct table_cell *out, const char *fmt, ...) PRINTF_(2, 3);
void cell_estimate(struct table_cell *out, struct estimate e);
/* No value, and why. */
void cell_none(struct table_cell *out, const char *why);

/* ---- for the formats ------------------------------------------------------------------------- */

bool cell_has(const struct table_cell *x);
/* As people read it, not escaped: "62.3 %", "12,712", "-". */
void cell_put(struct buf *b, const struct table_cell *x);
/* "+-1.3", "+-0.4 %~"; nothing if there is no value, or it is exact and no estimate. */
void cell_put_error(struct buf *b, const struct table_cell *x);
/* A head in one line. */
void table_put_head(struct buf *b, const struct table_column *c);
/* "(3 more edges)"; nothing if people are shown all. */
void table_put_rest(struct buf *b, const struct table *t, size_t shown);

#endif
