/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of analyses as virtual tables of SQLite: those of the documents that commands show, under
 * the same names of columns, `run` before them. A document is made when a query names one of its
 * tables. A recording that has no such result is left out, if another one has it.
 */
#include <stdlib.h>
#include <string.h>

#include "store/sql_int.h"

enum part { VALUE, ERROR_, WHY };

struct module {
	struct sql *db;
	size_t result;
	const struct table_form *form;
};

struct vtab {
	sqlite3_vtab base; /* first */
	const struct module *m;
	const struct table **table; /* by run; NULL: it has none */
	struct {
		size_t column;
		enum part part;
	} * col; /* behind `run` */
	size_t n_cols;
};

struct walker {
	sqlite3_vtab_cursor base; /* first */
	size_t run;
	struct table_row row;
	sqlite3_int64 n;
	struct buf scratch, text;
};

/* ---- schema ---------------------------------------------------------------------------------- */

static void free_vtab(struct vtab *t)
{
	if (t) {
		free(t->table);
		free(t->col);
	}
	free(t);
}

static const struct table *find(const struct document *d, const struct table_form *form)
{
	for (size_t i = 0; i < d->table.n; i++)
		if (!strcmp(d->table.v[i].form->name, form->name))
			return &d->table.v[i];
	return NULL;
}

/* The tables of all recordings. -1: none has the result. */
static int get_tables(struct vtab *t, struct err *err)
{
	const struct sql_opts *o = &t->m->db->o;
	bool any = false;

	for (size_t i = 0; i < o->n_runs; i++) {
		const struct document *d = NULL;
		struct err why = ERR_INIT;

		if (!o->get(o->ctx, i, t->m->result, &d, &why)) {
			any = true;
			t->table[i] = find(d, t->m->form);
		} else if (err->code == ERR_NONE) {
			*err = why;
		}
		if (why.code == ERR_NOMEM)
			return -1;
	}
	if (any)
		err_clear(err);
	return any ? 0 : -1;
}

static void declare(struct buf *b, struct vtab *t, const struct table_column *c, size_t i,
		    enum part part)
{
	static const char *const tails[] = { "", "_error", "_why" };
	enum table_kind k = part == VALUE ? c->kind : part == ERROR_ ? T_REAL : T_TEXT;

	/* names that data bring may have quotes */
	buf_puts(b, ",\"");
	for (const char *s = sql_column_name(c); *s; s++)
		buf_puts(b, *s == '"' ? "\"\"" : (char[]){ *s, 0 });
	buf_printf(b, "%s\" %s", tails[part], store_sql_type(k, false));
	t->col[t->n_cols].column = i;
	t->col[t->n_cols++].part = part;
}

/* Columns that data bring are those of the first recording that has them. */
static int declare_columns(struct vtab *t)
{
	struct table form = { .form = t->m->form };
	const struct table *shown = &form;
	const struct table_column *c;
	struct buf b = BUF_INIT;
	size_t n;
	int rc;

	for (size_t i = t->m->db->o.n_runs; i--;)
		if (t->table[i])
			shown = t->table[i];
	c = table_columns(shown, &n);
	t->col = calloc(3 * n + 1, sizeof(*t->col));
	if (!t->col)
		return SQLITE_NOMEM;
	buf_puts(&b, "CREATE TABLE x(run ID INT");
	for (size_t i = 0; i < n; i++) {
		if (c[i].flags & C_PEOPLE)
			continue;
		declare(&b, t, &c[i], i, VALUE);
		if (c[i].flags & C_ERROR)
			declare(&b, t, &c[i], i, ERROR_);
		if (c[i].flags & C_WHY)
			declare(&b, t, &c[i], i, WHY);
	}
	buf_puts(&b, ")");
	rc = sql_declare(t->m->db, &b);
	buf_free(&b);
	return rc;
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	const struct module *m = aux;
	struct err err = ERR_INIT;
	struct vtab *t = calloc(1, sizeof(*t));
	int rc;

	(void)db;
	(void)argc;
	(void)argv;
	*out = NULL;
	if (t)
		t->table = calloc(m->db->o.n_runs + 1, sizeof(*t->table));
	if (!t || !t->table) {
		free_vtab(t);
		return SQLITE_NOMEM;
	}
	t->m = m;
	if (get_tables(t, &err)) {
		if (m->db->err.code == ERR_NONE)
			m->db->err = err;
		*why = sqlite.mprintf("%s", err.what);
		free_vtab(t);
		return SQLITE_ERROR;
	}
	rc = declare_columns(t);
	if (rc == SQLITE_OK)
		*out = &t->base;
	else
		free_vtab(t);
	return rc;
}

static int disconnect_table(sqlite3_vtab *t)
{
	free_vtab((struct vtab *)t);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *x)
{
	struct vtab *t = (struct vtab *)base;
	double rows = 1;

	for (size_t i = 0; i < t->m->db->o.n_runs; i++)
		rows += t->table[i] ? (double)table_rows(t->table[i]) : 0;
	x->estimatedRows = (sqlite3_int64)rows;
	x->estimatedCost = rows * 2;
	return SQLITE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct walker *c = calloc(1, sizeof(*c));

	(void)t;
	*out = &c->base;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct walker *c = (struct walker *)base;

	buf_free(&c->scratch);
	buf_free(&c->text);
	free(c);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct walker *c = (struct walker *)base;
	struct vtab *t = (struct vtab *)base->pVtab;

	c->n++;
	for (; c->run < t->m->db->o.n_runs; c->run++, c->row = (struct table_row){ 0 })
		if (t->table[c->run] && table_next(t->table[c->run], &c->row))
			break;
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct walker *c = (struct walker *)base;

	(void)number;
	(void)plan;
	(void)argc;
	(void)argv;
	c->run = 0;
	c->n = 0;
	c->row = (struct table_row){ 0 };
	return next_row(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct vtab *t = (const struct vtab *)base->pVtab;

	return ((struct walker *)base)->run >= t->m->db->o.n_runs;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct walker *)base)->n;
	return SQLITE_OK;
}

static void result_text(sqlite3_context *x, struct walker *c, const struct table_cell *cell)
{
	buf_reset(&c->text);
	if (cell->kind == T_TEXT) {
		buf_puts(&c->text, cell->text);
		buf_puts(&c->text, cell->tail ? cell->tail : "");
	}
	for (size_t i = 0; cell->kind == T_LIST && i < cell->n_list; i++)
		buf_printf(&c->text, "%s%s", i ? "; " : "", cell->list[i]);
	if (c->text.failed)
		sqlite.result_error_nomem(x);
	else
		sqlite.result_text64(x, buf_str(&c->text), c->text.len, SQLITE_TRANSIENT,
				     SQLITE_UTF8);
}

static void result(struct sql *db, sqlite3_context *x, struct walker *c,
		   const struct table_cell *cell)
{
	switch (cell->kind) {
	case T_TEXT:
	case T_LIST:
		result_text(x, c, cell);
		break;
	case T_ADDRESS:
		db->high |= cell->n > INT64_MAX;
		sqlite.result_int64(x, (sqlite3_int64)cell->n);
		break;
	case T_SIGNED:
		sqlite.result_int64(x, cell->i);
		break;
	case T_ID:
	case T_COUNT:
	case T_BYTES:
	case T_FLAG:
		sqlite.result_int64(x, (sqlite3_int64)cell->n);
		break;
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		sqlite.result_double(x, cell->e.v);
		break;
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *x, int n)
{
	struct walker *c = (struct walker *)base;
	struct vtab *t = (struct vtab *)base->pVtab;
	const struct table *table = t->table[c->run];
	const struct table_column *col;
	struct table_cell cell;
	size_t n_columns, i;

	if (n == 0) {
		sqlite.result_int64(x, (sqlite3_int64)c->run + 1);
		return SQLITE_OK;
	}
	i = t->col[n - 1].column;
	col = table_columns(table, &n_columns);
	if (i >= n_columns || !table_has(table, i, C_PEOPLE))
		return SQLITE_OK;
	table_cell(&cell, table, &col[i], &c->row, &c->scratch);
	switch (t->col[n - 1].part) {
	case VALUE:
		if (cell_has(&cell))
			result(t->m->db, x, c, &cell);
		break;
	case ERROR_:
		if (cell_has(&cell) && isfinite(cell.e.half))
			sqlite.result_double(x, cell.e.half);
		break;
	case WHY:
		if (cell.e.why)
			sqlite.result_text(x, cell.e.why, -1, SQLITE_TRANSIENT);
		break;
	}
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xDestroy = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = row_id,
};

int sql_results_register(struct sql *db, struct err *err)
{
	for (size_t i = 0; i < db->o.n_results; i++) {
		const struct document_form *f = db->o.result[i].form;

		for (size_t k = 0; k < f->n_tables; k++) {
			const char *name = sql_table_name(&db->a, &db->o.result[i], f->table[k]);
			struct module *m = arena_alloc(&db->a, sizeof(*m));
			int rc;

			if (!m)
				return err_nomem(err);
			if (!name)
				continue;
			*m = (struct module){ db, i, f->table[k] };
			rc = sqlite.create_module(db->db, name, &methods, m);
			if (rc != SQLITE_OK)
				return sql_failed(db, rc, err);
		}
	}
	return 0;
}
