/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables as virtual tables of SQLite: the raw ones (schema.def), and those of analyses, which are
 * those of the documents that commands show, under the same names of columns, `run` before them.
 *
 * Raw: comparisons of bounded columns with numbers, and of `event` with a text, go down to the
 * reader; SQLite compares again, so bounds may be too wide.
 * Of analyses: a document is made when a query names one of its tables. A recording that has no
 * such result is left out, if another one has it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "store/sql_int.h"
#include "store/trace_tables.h"

/* Columns that the reader can bound. A letter of sqlite3_index_info.idxStr each. */
enum bound {
	NONE = 0,
	RUN = 'r',
	PLACE = 's',
	TIME = 't',
	CPU = 'c',
	PID = 'p',
	TID = 'i',
	IP = 'a',
	CHAIN = 'h',
	EVENT = 'e'
};

static const struct {
	const char *column;
	enum bound bound;
	double left; /* of all rows by =, for the planner */
} bounds[] = {
	{ "run", RUN, 0.5 },	     { "sample", PLACE, 1e-7 }, { "record", PLACE, 1e-7 },
	{ "time", TIME, 1e-3 },	     { "cpu", CPU, 0.3 },	{ "pid", PID, 0.3 },
	{ "tid", TID, 0.2 },	     { "ip", IP, 0.1 },		{ "event", EVENT, 0.4 },
	{ "chain_id", CHAIN, 1e-5 },
};
#define N_BOUNDS (sizeof(bounds) / sizeof(*bounds))

struct module { /* the object that SQLite gets for a table */
	struct sql *db;
	const struct table_form *form;
	bool is_raw;
	enum store_table raw;
	const struct trace_table *trace; /* of a tracepoint: raw samples with its fields */
	size_t result;			 /* else: of db->o.result */
};

enum part { RUN_NUMBER, VALUE, ERROR_, WHY };

struct vtab {
	sqlite3_vtab base; /* first */
	const struct module *m;
	const struct table **table; /* of an analysis, by run; NULL: it has none */
	struct {
		size_t column;
		enum part part;
	} * col; /* by SQLite's number */
	size_t n_cols;
};

struct walker {
	sqlite3_vtab_cursor base; /* first */
	struct raw *raw;	  /* of a raw table */
	char *event;
	size_t run; /* of an analysis */
	struct table_row row;
	bool end;
	sqlite3_int64 n;
	struct buf scratch, text;
};

static const struct vtab *vtab_of(const sqlite3_vtab_cursor *c)
{
	return (const struct vtab *)c->pVtab;
}

/* ---- schema ---------------------------------------------------------------------------------- */

static int disconnect_table(sqlite3_vtab *base)
{
	struct vtab *t = (struct vtab *)base;

	free(t->table);
	free(t->col);
	free(t);
	return SQLITE_OK;
}

static const struct table *table_of_form(const struct document *d, const struct table_form *form)
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

	t->table = xcalloc(o->n_runs, sizeof(*t->table));
	for (size_t i = 0; i < o->n_runs; i++) {
		const struct document *d = NULL;
		struct err why = ERR_INIT;

		if (!o->get(o->ctx, i, t->m->result, &d, &why)) {
			any = true;
			t->table[i] = table_of_form(d, t->m->form);
		} else if (err->code == ERR_NONE) {
			*err = why;
		}
	}
	if (any)
		err_clear(err);
	return any ? 0 : -1;
}

static void declare_column(struct buf *b, struct vtab *t, const struct table_column *c, size_t i,
			   enum part part)
{
	static const char *const tails[] = { "", "", "_error", "_why" };
	enum table_kind k = part == VALUE ? c->kind : part == ERROR_ ? T_REAL : T_TEXT;

	/* names that data bring may have quotes */
	buf_puts(b, t->n_cols ? ",\"" : "\"");
	for (const char *s = t->m->is_raw ? c->key : sql_column_name(c); *s; s++)
		buf_puts(b, *s == '"' ? "\"\"" : (char[]){ *s, 0 });
	buf_printf(b, "%s\" %s", tails[part], store_sql_type(k, part == VALUE && store_is_blob(c)));
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

	for (size_t i = t->m->db->o.n_runs; t->table && i--;)
		if (t->table[i])
			shown = t->table[i];
	c = table_columns(shown, &n);
	t->col = xcalloc(3 * n + 1, sizeof(*t->col));
	buf_puts(&b, "CREATE TABLE x(");
	if (!t->m->is_raw) {
		buf_puts(&b, "run ID INT");
		t->n_cols++;
	}
	for (size_t i = 0; i < n; i++) {
		if (c[i].flags & C_PEOPLE)
			continue;
		declare_column(&b, t, &c[i], i, VALUE);
		if (c[i].flags & C_ERROR)
			declare_column(&b, t, &c[i], i, ERROR_);
		if (c[i].flags & C_WHY)
			declare_column(&b, t, &c[i], i, WHY);
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
	struct vtab *t = xcalloc(1, sizeof(*t));
	int rc = SQLITE_ERROR;

	(void)db;
	(void)argc;
	(void)argv;
	*out = NULL;
	t->m = m;
	if (!m->is_raw && get_tables(t, &err)) {
		if (m->db->err.code == ERR_NONE)
			m->db->err = err;
		*why = sqlite.mprintf("%s", err.what);
	} else {
		rc = declare_columns(t);
	}
	if (rc == SQLITE_OK)
		*out = &t->base;
	else
		(void)disconnect_table(&t->base);
	return rc;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t vtab_bound_of(const struct module *m, int column)
{
	const struct table_column *c = column >= 0 ? &m->form->column[column] : NULL;
	const char *name = !c ? "" : c->key;

	/* a field may have the name of a sample's column */
	if (c && m->trace)
		name = trace_column_raw(c) < STORE_COLUMNS ? store_columns[c->which].key : "";

	for (size_t i = 0; i < N_BOUNDS; i++)
		if (!strcmp(bounds[i].column, name))
			/* samples of a chain are found by reading all */
			return bounds[i].bound == CHAIN && m->raw == STORE_samples ? N_BOUNDS : i;
	return N_BOUNDS;
}

static char op_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>'; /* one too many does no harm */
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	default:
		return 0;
	}
}

/* Plans the bounds of a raw table. idxStr has two letters for each argument of xFilter: the bounded
 * column, and how. */
static int plan_bounds(const struct module *m, sqlite3_index_info *x)
{
	double rows = (double)raw_rows(m->db->runs, m->raw), left = 1;
	char plan[2 * 16 + 1];
	int n = 0;

	for (int i = 0; i < x->nConstraint && n < 16; i++) {
		size_t b = vtab_bound_of(m, x->aConstraint[i].iColumn);
		char op = op_of(x->aConstraint[i].op);

		if (!x->aConstraint[i].usable || b == N_BOUNDS || !op ||
		    /* rows that a signed bound drops would not be seen to be the kernel's */
		    ((bounds[b].bound == EVENT || bounds[b].bound == IP) && op != '='))
			continue;
		plan[2 * n] = (char)bounds[b].bound;
		plan[2 * n + 1] = op;
		x->aConstraintUsage[i].argvIndex = ++n;
		left *= op == '=' ? bounds[b].left : 0.5;
	}
	plan[2 * n] = 0;
	x->idxStr = sqlite.mprintf("%s", plan);
	if (!x->idxStr)
		return SQLITE_NOMEM;
	x->needToFreeIdxStr = 1;
	x->estimatedRows = (sqlite3_int64)(rows * left) + 1;
	/* the headers of all records are read even for few rows, but for those of a place */
	x->estimatedCost =
		rows * (strstr(plan, "s=") || strstr(plan, "h=") ? 1e-6 : 0.2 + left) + 10;
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *x)
{
	const struct vtab *t = (const struct vtab *)base;
	double rows = 1;

	if (t->m->is_raw)
		return plan_bounds(t->m, x);
	for (size_t i = 0; i < t->m->db->o.n_runs; i++)
		rows += t->table[i] ? (double)table_rows(t->table[i]) : 0;
	x->estimatedRows = (sqlite3_int64)rows;
	x->estimatedCost = rows * 2;
	return SQLITE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	const struct module *m = ((const struct vtab *)t)->m;
	struct walker *c = xcalloc(1, sizeof(*c));

	if (m->is_raw)
		c->raw = raw_open(m->db->runs, m->raw);
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct walker *c = (struct walker *)base;

	raw_close(c->raw);
	free(c->event);
	buf_free(&c->scratch);
	buf_free(&c->text);
	free(c);
	return SQLITE_OK;
}

static int64_t clamp(double x)
{
	return x >= 9.2e18 ? INT64_MAX : x <= -9.2e18 ? INT64_MIN : (int64_t)x;
}

static void narrow_range(struct cursor_range *r, char op, sqlite3_value *v)
{
	struct cursor_range x;

	if (sqlite.value_type(v) == SQLITE_INTEGER)
		x.low = x.high = sqlite.value_int64(v);
	else if (sqlite.value_type(v) == SQLITE_FLOAT)
		x = (struct cursor_range){ clamp(floor(sqlite.value_double(v))),
					   clamp(ceil(sqlite.value_double(v))) };
	else
		return;
	if (op != '<' && x.low > r->low)
		r->low = x.low;
	if (op != '>' && x.high < r->high)
		r->high = x.high;
}

static struct cursor_range *range_of(struct raw_bounds *b, char bound)
{
	switch (bound) {
	case RUN:
		return &b->run;
	case PLACE:
		return &b->place;
	case TIME:
		return &b->time;
	case CPU:
		return &b->cpu;
	case PID:
		return &b->pid;
	case TID:
		return &b->tid;
	case CHAIN:
		return &b->chain;
	default:
		return &b->ip;
	}
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct walker *c = (struct walker *)base;
	const struct vtab *t = vtab_of(base);
	struct err err = ERR_INIT;
	int ret = 0;

	c->n++;
	if (c->raw) {
		ret = raw_next(c->raw, &err);
		c->end = ret != 1;
		return ret < 0 ? sql_table_failed(t->m->db, base->pVtab, &err) : SQLITE_OK;
	}
	for (; c->run < t->m->db->o.n_runs; c->run++, c->row = (struct table_row){ 0 })
		if (t->table[c->run] && table_next(t->table[c->run], &c->row))
			return SQLITE_OK;
	c->end = true;
	return SQLITE_OK;
}

static int vtab_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct walker *c = (struct walker *)base;
	struct raw_bounds b = raw_bounds_none;

	(void)number;
	free(c->event);
	c->event = NULL;
	b.stop = sql_is_over;
	b.stop_ctx = vtab_of(base)->m->db;
	for (int i = 0; i < argc; i++)
		if (plan[2 * i] != EVENT)
			narrow_range(range_of(&b, plan[2 * i]), plan[2 * i + 1], argv[i]);
		else if (!c->event && sqlite.value_type(argv[i]) == SQLITE_TEXT)
			c->event = xstrdup((const char *)sqlite.value_text(argv[i]));
	b.event = c->event;
	b.trace = vtab_of(base)->m->trace ? vtab_of(base)->m->trace->event : NULL;
	if (c->raw)
		raw_begin(c->raw, &b);
	c->run = 0;
	c->n = 0;
	c->row = (struct table_row){ 0 };
	c->end = false;
	return next_row(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct walker *)base)->end;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct walker *)base)->n;
	return SQLITE_OK;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Texts of `stays` are those that are not in its scratch; NULL: none stay. */
void sql_result_cell(sqlite3_context *x, const struct table_cell *cell, bool blob,
		     const struct buf *stays)
{
	sqlite3_destructor_type keep =
		stays && cell->text != stays->s ? SQLITE_STATIC : SQLITE_TRANSIENT;

	if (!cell_has(cell))
		return;
	switch (cell->kind) {
	case T_TEXT:
	case T_LIST:
		if (blob)
			sqlite.result_blob64(x, cell->text, cell->n, keep);
		else
			sqlite.result_text64(x, cell->text, strlen(cell->text), keep, SQLITE_UTF8);
		break;
	case T_SIGNED:
		sqlite.result_int64(x, cell->i);
		break;
	case T_ADDRESS:
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

/* A text that consists of several. */
static void join_text(struct buf *b, struct table_cell *cell)
{
	buf_reset(b);
	if (cell->kind == T_TEXT)
		buf_printf(b, "%s%s", cell->text, cell->tail ? cell->tail : "");
	for (size_t i = 0; cell->kind == T_LIST && i < cell->n_list; i++)
		buf_printf(b, "%s%s", i ? "; " : "", cell->list[i]);
	cell->text = buf_str(b);
}

static int get_raw_cell(struct walker *c, const struct module *m, size_t i, struct table_cell *out,
			struct err *err)
{
	const struct table_form *f = m->form;
	enum store_column_id id = m->trace ? trace_column_raw(&f->column[i])
					   : (enum store_column_id)(&f->column[i] - store_columns);

	if (id < STORE_COLUMNS)
		return raw_cell(c->raw, id, out, &c->scratch, err);
	raw_trace_cell(c->raw, m->trace->field[raw_run_now(c->raw) * f->n_columns + i], out,
		       &c->scratch);
	return 0;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *x, int n)
{
	struct walker *c = (struct walker *)base;
	const struct vtab *t = vtab_of(base);
	const struct table *table = t->table ? t->table[c->run] : NULL;
	enum part part = t->col[n].part;
	size_t n_columns, i = t->col[n].column;
	const struct table_column *col = t->m->form->column;
	struct table_cell cell;
	struct err err = ERR_INIT;

	if (part == RUN_NUMBER) {
		sqlite.result_int64(x, (sqlite3_int64)c->run + 1);
		return SQLITE_OK;
	}
	if (c->raw) {
		if (get_raw_cell(c, t->m, i, &cell, &err))
			return sql_table_failed(t->m->db, base->pVtab, &err);
	} else {
		col = table_columns(table, &n_columns);
		if (i >= n_columns || !table_has(table, i, C_PEOPLE))
			return SQLITE_OK;
		table_cell(&cell, table, &col[i], &c->row, &c->scratch);
		if (cell_has(&cell) && (cell.kind == T_TEXT || cell.kind == T_LIST))
			join_text(&c->text, &cell);
	}
	t->m->db->high |= cell.kind == T_ADDRESS && cell_has(&cell) && cell.n > INT64_MAX;
	if (part == VALUE)
		sql_result_cell(x, &cell, c->raw && store_is_blob(&col[i]),
				c->raw ? &c->scratch : NULL);
	else if (part == ERROR_ && cell_has(&cell) && isfinite(cell.e.half))
		sqlite.result_double(x, cell.e.half);
	else if (part == WHY && cell.e.why)
		sqlite.result_text(x, cell.e.why, -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xDestroy = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = vtab_filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = vtab_column,
	.xRowid = row_id,
};

/* ---- which there are ------------------------------------------------------------------------- */

static int register_table(struct sql *db, const char *name, struct module m, struct err *err)
{
	int rc = sqlite.create_module(db->db, name, &methods, arena_xmemdup(&db->a, &m, sizeof(m)));

	return rc == SQLITE_OK ? 0 : sql_failed(db, rc, err);
}

int sql_tables_register(struct sql *db, struct err *err)
{
	struct store_table_row row[STORE_TABLES];

	store_tables(row);
	for (int i = 0; i < STORE_TABLES; i++) {
		struct table_form *f = arena_xalloc(&db->a, sizeof(*f));

		*f = (struct table_form){ .name = row[i].name,
					  .column = &store_columns[row[i].first],
					  .n_columns = (size_t)row[i].n };
		if (register_table(db, f->name,
				   (struct module){ .db = db,
						    .form = f,
						    .is_raw = true,
						    .raw = (enum store_table)i },
				   err))
			return -1;
	}
	for (size_t i = 0; i < db->o.n_results; i++) {
		const struct document_form *f = db->o.result[i].form;

		for (size_t k = 0; k < f->n_tables; k++) {
			const char *name = sql_table_name(&db->a, &db->o.result[i], f->table[k]);

			if (name &&
			    register_table(
				    db, name,
				    (struct module){ .db = db, .form = f->table[k], .result = i },
				    err))
				return -1;
		}
	}
	for (size_t i = 0; i < db->traces.n; i++)
		if (register_table(db, db->traces.v[i].form.name,
				   (struct module){ .db = db,
						    .form = &db->traces.v[i].form,
						    .is_raw = true,
						    .raw = STORE_samples,
						    .trace = &db->traces.v[i] },
				   err))
			return -1;
	return 0;
}
