/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables and columns as a result, for `list tables` and `explain TABLE.COLUMN`.
 */
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/ibs_event.h"
#include "store/sql.h"

struct column_row {
	const char *table, *column, *type, *unit, *means, *from;
};

struct table_row_of {
	const char *table, *means;
	size_t n;
};

/* ---- names of tables ------------------------------------------------------------------------- */

/* What a raw table has; NULL: it is none. */
static const char *schema_raw_text(const char *name)
{
	struct store_table_row row[STORE_TABLES];

	store_tables(row);
	for (int i = 0; i < STORE_TABLES; i++)
		if (!strcmp(row[i].name, name))
			return row[i].text;
	return NULL;
}

/* Returns true for the first of several main tables, each of another kind of document. */
static bool is_main(const struct document_form *f, const struct table_form *t)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (f->table[i]->flags & TABLE_MAIN)
			return f->table[i] == t;
	return false;
}

/* The main table has the result's name, others have it as a prefix: no name depends on which other
 * results there are. A main table that would have the name of a raw one has a prefix too. */
const char *sql_table_name(struct arena *a, const struct sql_result *r, const struct table_form *t)
{
	if (t->flags & TABLE_PEOPLE || !strcmp(t->name, "recording") || !strcmp(t->name, "losses"))
		return NULL;
	if (is_main(r->form, t) && !schema_raw_text(r->name))
		return r->name;
	return arena_xprintf(a, "%s_%s", r->name, t->name);
}

const char *sql_column_name(const struct table_column *c)
{
	return strcmp(c->key, "run") ? c->key : "run_2";
}

typedef VEC(const char *) names_vec;

static const char *const *names_end(names_vec *v, struct arena *a)
{
	const char *const *names;

	vec_xpush(v, NULL);
	names = arena_xmemdup(a, v->v, v->n * sizeof(*v->v));
	vec_free(v);
	return names;
}

void sql_traces(struct trace_tables *out, struct arena *a, const struct sql_opts *o)
{
	trace_tables_make(out, a, o->run, o->n_runs, sql_table_names(a, o, NULL));
}

const char *const *sql_table_names(struct arena *a, const struct sql_opts *o,
				   const struct trace_tables *traces)
{
	const struct ibs_own *own = o->own;
	const struct sql_result *r = o->result;
	size_t n = o->n_results;
	struct store_table_row row[STORE_TABLES];
	names_vec v = VEC_INIT;

	store_tables(row);
	for (int i = 0; i < STORE_TABLES; i++)
		vec_xpush(&v, row[i].name);
	for (size_t i = 0; i < n_ibs_events; i++)
		if (ibs_events[i].name)
			vec_xpush(&v, ibs_events[i].name);
	for (size_t i = 0; own && i < own->n; i++)
		vec_xpush(&v, own->event[i].name);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r[i].form->n_tables; k++) {
			const char *name = sql_table_name(a, &r[i], r[i].form->table[k]);

			if (name)
				vec_xpush(&v, name);
		}
	for (size_t i = 0; traces && i < traces->n; i++)
		vec_xpush(&v, traces->v[i].form.name);
	return names_end(&v, a);
}

const char *const *sql_column_names(struct arena *a)
{
	names_vec v = VEC_INIT;

	for (int i = 0; i < STORE_COLUMNS; i++) {
		bool again = false;

		for (size_t k = 0; k < v.n && !again; k++)
			again = !strcmp(v.v[k], store_columns[i].key);
		if (!again)
			vec_xpush(&v, store_columns[i].key);
	}
	return names_end(&v, a);
}

/* ---- the table of columns -------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct column_row, member)
static const struct table_column columns[] = {
	COLUMN("table", "table", T_TEXT, C_KEY | C_GROUP, "name of the table", OF(table)),
	COLUMN("column", "column", T_TEXT, C_KEY, "name of the column", OF(column)),
	COLUMN("type", "type", T_TEXT, 0, "what its values are", OF(type)),
	COLUMN("unit", "unit", T_TEXT, C_SPARSE, "of its values", OF(unit)),
	COLUMN("means", "meaning", T_TEXT, C_FLEX | C_CUT, "what it is", OF(means)),
	COLUMN("source", "from", T_TEXT, C_DROP, "the field of the recording, or the command",
	       OF(from)),
};
#undef OF
static const struct table_form form = { "columns", NULL, TABLE_MAIN, TABLE_COLUMNS(columns),
					.rest = "column" };
#define OF(member) TABLE_FIELD(struct table_row_of, member)
static const struct table_column summary_columns[] = {
	COLUMN("table", "table", T_TEXT, C_KEY, "name of the table", OF(table)),
	COLUMN("columns", "columns", T_COUNT, 0, "how many columns it has", OF(n)),
	COLUMN("means", "what it has", T_TEXT, C_FLEX | C_CUT, "its rows, or the command's result",
	       OF(means)),
};
#undef OF
static const struct table_form summary_form = { "tables", NULL, 0, TABLE_COLUMNS(summary_columns),
						.rest = "table" };
static const struct table_form *const forms[] = { &form, &summary_form };
const struct document_form sql_tables_document = { "tables", 1, forms, 2, NULL, 0 };

static bool matches(struct arena *a, const char *pattern, const char *table, const char *column)
{
	return text_means(pattern, table) ||
	       text_means(pattern, arena_xprintf(a, "%s.%s", table, column));
}

struct adding {
	struct document *d;
	const char *pattern;
	VEC(struct column_row) v;
};

static void add_matching(struct adding *x, struct column_row row)
{
	if (matches(&x->d->a, x->pattern, row.table, row.column))
		vec_xpush(&x->v, row);
}

static const char *type_word(enum table_kind k, bool blob)
{
	static const char *const words[] = {
		[T_TEXT] = "text",   [T_LIST] = "text",	    [T_ID] = "id",
		[T_COUNT] = "count", [T_SIGNED] = "number", [T_ADDRESS] = "address",
		[T_BYTES] = "bytes", [T_FLAG] = "flag",	    [T_AMOUNT] = "amount",
		[T_REAL] = "number", [T_SHARE] = "share",   [T_SECONDS] = "seconds",
	};

	return blob ? "blob" : words[k];
}

static void add_schema_result(struct adding *x, const struct sql_result *r)
{
	const struct document_form *f = r->form;

	for (size_t i = 0; i < f->n_tables; i++) {
		const struct table_form *t = f->table[i];
		const char *name = sql_table_name(&x->d->a, r, t);
		struct arena *a = &x->d->a;

		if (!name)
			continue;
		add_matching(x, (struct column_row){ name, "run", "id", NULL, "the recording",
						     "command line" });
		for (size_t k = 0; k < t->n_columns; k++) {
			const struct table_column *c = &t->column[k];

			if (c->flags & C_PEOPLE)
				continue;
			add_matching(x, (struct column_row){ name, sql_column_name(c),
							     type_word(c->kind, false), c->unit,
							     c->means, f->name });
			if (c->flags & C_ERROR)
				add_matching(x, (struct column_row){
							name, arena_xprintf(a, "%s_error", c->key),
							"number", c->unit,
							"half of the 95 % interval", f->name });
			if (c->flags & C_WHY)
				add_matching(x, (struct column_row){
							name, arena_xprintf(a, "%s_why", c->key),
							"text", NULL,
							"why there is no value or no error",
							f->name });
		}
	}
}

/* One row per table; the columns of a table are neighbours. */
static void put_summary(struct adding *x)
{
	struct table t = { .form = &summary_form, .stride = sizeof(struct table_row_of) };
	VEC(struct table_row_of) v = VEC_INIT;

	for (size_t i = 0, n; i < x->v.n; i += n) {
		struct table_row_of row = { .table = x->v.v[i].table };

		for (n = 1; i + n < x->v.n && !strcmp(x->v.v[i + n].table, row.table);)
			n++;
		row.n = n;
		row.means = schema_raw_text(row.table);
		if (!row.means && strchr(x->v.v[i + n - 1].from, ':'))
			row.means = arena_xprintf(&x->d->a, "tracepoint %s, a row per sample",
						  x->v.v[i + n - 1].from);
		if (!row.means) /* of the last column: the first, "run", is not of the result */
			row.means =
				arena_xprintf(&x->d->a, "result \"%s\", as the command shows it",
					      x->v.v[i + n - 1].from);
		vec_xpush(&v, row);
	}
	t.n = v.n;
	t.array = arena_xmemdup(&x->d->a, v.v, v.n * sizeof(*v.v));
	vec_free(&v);
	document_table(x->d, &t);
	document_next(x->d, "cyclade list tables samples", "the columns of a table");
}

static void add_schema_trace(struct adding *x, const struct trace_table *t)
{
	for (size_t i = 0; i < t->form.n_columns; i++) {
		const struct table_column *c = &t->form.column[i];

		add_matching(x,
			     (struct column_row){ t->form.name, c->key, type_word(c->kind, false),
						  c->unit, c->means, c->from });
	}
}

size_t sql_tables_put(struct document *d, const struct sql_result *result, size_t n,
		      const struct trace_tables *traces, const char *pattern)
{
	struct adding x = { .d = d, .pattern = pattern };
	struct store_table_row row[STORE_TABLES];
	struct table t = { .form = &form, .stride = sizeof(struct column_row) };

	store_tables(row);
	for (int i = 0; i < STORE_COLUMNS; i++) {
		const struct table_column *c = &store_columns[i];
		bool blob = store_is_blob(c);

		add_matching(&x,
			     (struct column_row){ row[store_table_of((enum store_column_id)i)].name,
						  c->key, type_word(c->kind, blob),
						  blob ? NULL : c->unit, c->means, c->from });
	}
	for (size_t i = 0; i < n; i++)
		add_schema_result(&x, &result[i]);
	for (size_t i = 0; traces && i < traces->n; i++)
		add_schema_trace(&x, &traces->v[i]);
	t.n = x.v.n;
	t.array = arena_xmemdup(&d->a, x.v.v, x.v.n * sizeof(*x.v.v));
	t.data_only = !pattern;
	document_table(d, &t);
	if (!pattern)
		put_summary(&x);
	vec_free(&x.v);
	return t.n;
}
