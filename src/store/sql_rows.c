/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/sql_rows.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "report/recorded.h"
#include "store/schema.h"
#include "store/sql_int.h"

struct cell {
	int type; /* SQLITE_INTEGER, ... */
	union {
		int64_t i;
		double r;
		const char *s;
	};
};

/* Rows are arrays of cells in blocks that never move: `first` of each is linked by the arena. */
struct sql_rows {
	struct document *d;
	struct table_column *column;
	size_t n_columns, n;
	uint64_t most;
	struct block *head, *tail;
};

struct block {
	struct block *next;
	size_t n, cap; /* rows */
	struct cell cell[];
};

/* ---- columns --------------------------------------------------------------------------------- */

static const struct cell *sql_cell_of(const struct table_column *c, const struct table_row *r)
{
	return (const struct cell *)r->p + c->which;
}

static void put_int(struct table_cell *out, int64_t i)
{
	switch (out->kind) {
	case T_ID:
	case T_COUNT:
	case T_BYTES:
		if (i < 0)
			out->kind = T_SIGNED;
		break;
	case T_ADDRESS:
	case T_FLAG:
		break;
	case T_AMOUNT:
	case T_SHARE:
	case T_REAL:
	case T_SECONDS:
		out->e = (struct estimate){ (double)i, 0, NULL };
		break;
	default:
		out->kind = T_SIGNED;
		break;
	}
	out->n = (uint64_t)i;
	out->i = i;
}

/* A value may have another type than its column: SQL allows that. */
TABLE_GET(get_sql_value)
{
	const struct cell *x = sql_cell_of(c, r);

	switch (x->type) {
	case SQLITE_INTEGER:
		put_int(out, x->i);
		break;
	case SQLITE_FLOAT:
		if (out->kind != T_AMOUNT && out->kind != T_SHARE && out->kind != T_SECONDS)
			out->kind = T_REAL;
		out->e = (struct estimate){ x->r, 0, NULL };
		break;
	case SQLITE_NULL:
		out->none = true;
		break;
	default:
		out->kind = T_TEXT;
		out->text = x->s;
		break;
	}
}

/* Keys of an object are different: the second "x" is "x_2". */
static const char *sql_key_of(struct sql_rows *r, const char *name, size_t i)
{
	const char *key = name;

	for (unsigned n = 2;; n++) {
		bool taken = false;

		for (size_t k = 0; k < i && !taken; k++)
			taken = !strcmp(r->column[k].key, key);
		if (!taken)
			return arena_xstrdup(&r->d->a, key);
		key = arena_xprintf(&r->d->a, "%s_%u", name, n);
	}
}

/* Queries name their columns as they like. */
static const char *safe_head(struct sql_rows *r, const char *key)
{
	struct buf b = BUF_INIT;
	const char *s;

	text_put_safe(&b, key, false);
	s = arena_xstrdup(&r->d->a, buf_str(&b));
	buf_free(&b);
	return s;
}

int sql_rows_open(struct sql_rows **out, struct document *d, sqlite3_stmt *s, uint64_t most,
		  struct err *err)
{
	struct sql_rows *r = arena_xalloc(&d->a, sizeof(*r));
	int n = sqlite.column_count(s);

	*out = r;
	r->column = arena_xalloc(&d->a, ((size_t)n + 1) * sizeof(*r->column));
	r->d = d;
	r->most = most;
	r->n_columns = (size_t)n;
	for (int i = 0; i < n; i++) {
		const char *name = sqlite.column_name(s, i);
		struct table_column *c = &r->column[i];

		*c = (struct table_column){ .kind = T_LIST, /* not known yet */
					    .means = "as the query says",
					    .get = get_sql_value,
					    .which = (size_t)i };
		(void)store_kind_of(sqlite.column_decltype(s, i), &c->kind);
		c->key = name ? sql_key_of(r, name, (size_t)i) : NULL;
		if (!c->key)
			return err_nomem(err);
		c->head = safe_head(r, c->key);
	}
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void kind_from(struct table_column *c, int type)
{
	if (c->kind == T_LIST && type != SQLITE_NULL)
		c->kind = type == SQLITE_INTEGER ? T_SIGNED
			  : type == SQLITE_FLOAT ? T_REAL
						 : T_TEXT;
}

static const char *copy_blob(struct arena *a, const uint8_t *p, size_t n)
{
	char *s = arena_xalloc(a, 2 * n + 1);

	text_hex(s, p, n);
	return s;
}

/* A 0 inside is seen as \x00. */
static const char *copy_text(struct arena *a, const char *p, size_t n)
{
	struct buf b = BUF_INIT;
	const char *s;

	if (!memchr(p, 0, n))
		return arena_xstrndup(a, p, n);
	for (size_t i = 0; i < n; i++)
		if (p[i])
			buf_putc(&b, p[i]);
		else
			buf_puts(&b, "\\x00");
	s = arena_xstrdup(a, buf_str(&b));
	buf_free(&b);
	return s;
}

static int read_cell(struct sql_rows *r, struct cell *x, sqlite3_stmt *s, int i)
{
	const void *p;

	x->type = sqlite.column_type(s, i);
	kind_from(&r->column[i], x->type);
	switch (x->type) {
	case SQLITE_INTEGER:
		x->i = sqlite.column_int64(s, i);
		return 0;
	case SQLITE_FLOAT:
		x->r = sqlite.column_double(s, i);
		return 0;
	case SQLITE_NULL:
		return 0;
	case SQLITE_BLOB:
		p = sqlite.column_blob(s, i);
		x->s = copy_blob(&r->d->a, p, (size_t)sqlite.column_bytes(s, i));
		return 0;
	default:
		p = sqlite.column_text(s, i);
		x->s = p ? copy_text(&r->d->a, p, (size_t)sqlite.column_bytes(s, i)) : NULL;
		return x->s ? 0 : -1;
	}
}

static struct cell *new_row(struct sql_rows *r)
{
	struct block *b = r->tail;

	if (!b || b->n == b->cap) {
		size_t cap = b ? b->cap < 4096 ? b->cap * 2 : b->cap : 16;

		b = arena_xalloc(&r->d->a, sizeof(*b) + cap * r->n_columns * sizeof(struct cell));
		b->cap = cap;
		*(r->tail ? &r->tail->next : &r->head) = b;
		r->tail = b;
	}
	r->n++;
	return &b->cell[b->n++ * r->n_columns];
}

/* Returns the bytes that the texts of the row take. */
static uint64_t size_of_row(const struct sql_rows *r, sqlite3_stmt *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < (int)r->n_columns; i++) {
		int type = sqlite.column_type(s, i);

		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			sum += (uint64_t)sqlite.column_bytes(s, i) * (type == SQLITE_BLOB ? 2 : 1);
	}
	return sum;
}

int sql_rows_add(struct sql_rows *r, sqlite3_stmt *s, struct err *err)
{
	uint64_t used = r->d->a.total + (uint64_t)sqlite.memory_used();
	struct cell *x;

	if (used + size_of_row(r, s) > r->most) {
		char n[NUM_MAX];

		(void)err_set(err, ERR_LIMIT, "the rows of the query need more than %s of memory",
			      num_bytes(n, r->most));
		return err_hint(err, "LIMIT them, group them, or allow more: --memory 4G");
	}
	x = new_row(r);
	for (size_t i = 0; i < r->n_columns; i++)
		if (read_cell(r, &x[i], s, (int)i))
			return err_nomem(err);
	return 0;
}

/* at[0] is the row in the block, at[1] the block; both 0 before the first row. */
static bool next_sql_row(const struct table *t, struct table_row *row)
{
	const struct sql_rows *r = t->ctx;
	const struct block *b = row->p ? (const struct block *)row->at[1] : r->head;
	size_t i = row->p ? row->at[0] + 1 : 0;

	if (b && i == b->n) {
		b = b->next;
		i = 0;
	}
	if (!b)
		return false;
	row->at[0] = i;
	row->at[1] = (size_t)b;
	row->p = &b->cell[i * r->n_columns];
	return true;
}

static const struct table_column none[] = {
	COLUMN("none", "", T_TEXT, 0, "columns are those of the query", .get = get_sql_value),
};
static const struct table_form sql_rows_form = { "rows", NULL, TABLE_MAIN | TABLE_GROWS,
						 TABLE_COLUMNS(none), .next = next_sql_row };

void sql_rows_end(struct sql_rows *r)
{
	struct table t = {
		.form = &sql_rows_form, .ctx = r, .column = r->column, .n_columns = r->n_columns
	};

	for (size_t i = 0; i < r->n_columns; i++) {
		if (r->column[i].kind == T_LIST) /* no row had a value */
			r->column[i].kind = T_TEXT;
		if (r->column[i].kind == T_TEXT)
			r->column[i].flags = C_FLEX | C_CUT;
	}
	document_table(r->d, &t);
	if (!table_rows(&t))
		document_fact(r->d, "rows", false, "none");
}

static const struct table_form *const forms[] = { &sql_rows_form, &recorded_losses_form };
const struct document_form sql_document = { "sql", 1, forms, 2, NULL, 0 };
