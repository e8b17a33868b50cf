/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw tables as virtual tables of SQLite. Comparisons of bounded columns with numbers, and of
 * `event` with a text, go down to the reader; SQLite compares again, so bounds may be too wide.
 */
#include <math.h>
#include <stdlib.h>

#include "store/sql_int.h"

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

struct module { /* what SQLite is given for a table */
	struct sql *db;
	enum store_table table;
	struct store_table_row row;
};

struct vtab {
	sqlite3_vtab base; /* first */
	const struct module *m;
};

struct walker {
	sqlite3_vtab_cursor base; /* first */
	struct raw *raw;
	bool end;
	sqlite3_int64 row;
	char *event;
};

static const struct module *module_of(sqlite3_vtab *t)
{
	return ((struct vtab *)t)->m;
}

/* ---- schema ---------------------------------------------------------------------------------- */

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	const struct module *m = aux;
	struct vtab *t = NULL;
	struct buf b = BUF_INIT;
	int rc;

	(void)argc;
	(void)argv;
	(void)db;
	(void)why;
	buf_puts(&b, "CREATE TABLE x(");
	for (int i = 0; i < m->row.n; i++) {
		const struct store_column *c = &store_columns[m->row.first + i];

		buf_printf(&b, "%s\"%s\" %s", i ? "," : "", c->name,
			   store_sql_type(c->kind, store_is_blob(c)));
	}
	buf_puts(&b, ")");
	rc = sql_declare(m->db, &b);
	buf_free(&b);
	if (rc == SQLITE_OK)
		t = calloc(1, sizeof(*t));
	if (rc == SQLITE_OK && !t)
		rc = SQLITE_NOMEM;
	if (t)
		t->m = m;
	*out = t ? &t->base : NULL;
	return rc;
}

static int disconnect_table(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t bound_of(const struct module *m, int column)
{
	const char *name =
		column >= 0 && column < m->row.n ? store_columns[m->row.first + column].name : "";

	for (size_t i = 0; i < N_BOUNDS; i++)
		if (!strcmp(bounds[i].column, name))
			/* samples of a chain are found by reading all */
			return bounds[i].bound == CHAIN && m->table == STORE_samples ? N_BOUNDS : i;
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

/* idxStr has two letters for each argument of xFilter: what is bounded, and how. */
static int best_index(sqlite3_vtab *t, sqlite3_index_info *x)
{
	const struct module *m = module_of(t);
	double rows = (double)raw_rows(m->db->runs, m->table), left = 1;
	char plan[2 * 16 + 1];
	int n = 0;

	for (int i = 0; i < x->nConstraint && n < 16; i++) {
		size_t b = bound_of(m, x->aConstraint[i].iColumn);
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

/* ---- rows ------------------------------------------------------------------------------------ */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	const struct module *m = module_of(t);
	struct err err = ERR_INIT;
	struct walker *c = calloc(1, sizeof(*c));

	*out = &c->base;
	if (!c)
		return SQLITE_NOMEM;
	if (!raw_open(&c->raw, m->db->runs, m->table, &err))
		return SQLITE_OK;
	free(c);
	return sql_table_failed(m->db, t, &err);
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct walker *c = (struct walker *)base;

	raw_close(c->raw);
	free(c->event);
	free(c);
	return SQLITE_OK;
}

static int64_t clamp(double x)
{
	return x >= 9.2e18 ? INT64_MAX : x <= -9.2e18 ? INT64_MIN : (int64_t)x;
}

static void narrow(struct cursor_range *r, char op, sqlite3_value *v)
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
	struct err err = ERR_INIT;
	int ret = raw_next(c->raw, &err);

	c->end = ret != 1;
	c->row++;
	return ret < 0 ? sql_table_failed(module_of(base->pVtab)->db, base->pVtab, &err)
		       : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct walker *c = (struct walker *)base;
	struct sql *db = module_of(base->pVtab)->db;
	struct raw_bounds b = raw_bounds_none;
	struct err err = ERR_INIT;

	(void)number;
	free(c->event);
	c->event = NULL;
	b.stop = sql_is_over;
	b.stop_ctx = db;
	for (int i = 0; i < argc; i++) {
		if (plan[2 * i] != EVENT) {
			narrow(range_of(&b, plan[2 * i]), plan[2 * i + 1], argv[i]);
		} else if (!c->event && sqlite.value_type(argv[i]) == SQLITE_TEXT) {
			c->event = strdup((const char *)sqlite.value_text(argv[i]));
			if (!c->event)
				return SQLITE_NOMEM;
		}
	}
	b.event = c->event;
	if (raw_begin(c->raw, &b, &err))
		return sql_table_failed(db, base->pVtab, &err);
	c->row = 0;
	return next_row(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct walker *)base)->end;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct walker *)base)->row;
	return SQLITE_OK;
}

void sql_result_cell(sqlite3_context *x, const struct raw_cell *v)
{
	sqlite3_destructor_type keep = v->stays ? SQLITE_STATIC : SQLITE_TRANSIENT;
	switch (v->kind) {
	case V_NULL:
		break;
	case V_INT:
		sqlite.result_int64(x, v->i);
		break;
	case V_REAL:
		sqlite.result_double(x, v->r);
		break;
	case V_TEXT:
		sqlite.result_text64(x, v->s, v->len, keep, SQLITE_UTF8);
		break;
	case V_BLOB:
		sqlite.result_blob64(x, v->s ? v->s : "", v->len, keep);
		break;
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *x, int n)
{
	struct walker *c = (struct walker *)base;
	const struct module *m = module_of(base->pVtab);
	struct err err = ERR_INIT;
	struct raw_cell v;

	if (raw_value(c->raw, (enum store_column_id)(m->row.first + n), &v, &err))
		return sql_table_failed(m->db, base->pVtab, &err);
	m->db->high |=
		store_columns[m->row.first + n].kind == T_ADDRESS && v.kind == V_INT && v.i < 0;
	sql_result_cell(x, &v);
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

int sql_raw_register(struct sql *db, struct err *err)
{
	struct store_table_row row[STORE_TABLES];

	store_tables(row);
	for (int i = 0; i < STORE_TABLES; i++) {
		struct module *m = arena_alloc(&db->a, sizeof(*m));
		int rc;

		if (!m)
			return err_nomem(err);
		*m = (struct module){ db, (enum store_table)i, row[i] };
		rc = sqlite.create_module(db->db, row[i].name, &methods, m);
		if (rc != SQLITE_OK)
			return sql_failed(db, rc, err);
	}
	return 0;
}
