/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/sql.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/text.h"
#include "report/recorded.h"
#include "store/ibs_event.h"
#include "store/sql_int.h"
#include "store/sql_rows.h"

#define MEMORY	    ((uint64_t)1 << 30)
#define CHECK_EVERY 5000 /* steps of SQLite's machine: some 0.1 ms */

/* ---- ends ------------------------------------------------------------------------------------ */

static uint64_t sql_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool sql_is_over(void *ctx)
{
	struct sql *db = ctx;

	if (db->o.progress)
		db->o.progress(db->o.stop_ctx);
	if (!db->stopped && db->o.stop && db->o.stop(db->o.stop_ctx))
		db->stopped = true;
	if (db->deadline && sql_now_ns() > db->deadline)
		db->late = true;
	if (!db->stopped && !db->late)
		return false;
	sqlite.interrupt(db->db);
	return true;
}

static int on_progress(void *ctx)
{
	return sql_is_over(ctx);
}

int sql_table_failed(struct sql *db, sqlite3_vtab *t, const struct err *err)
{
	if (db->err.code == ERR_NONE)
		db->err = *err;
	sqlite.free(t->zErrMsg);
	t->zErrMsg = sqlite.mprintf("%s", err->what);
	return err->code == ERR_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int no_memory(const struct sql *db, struct err *err)
{
	char n[NUM_MAX];

	(void)err_set(err, ERR_LIMIT, "the query needs more than %s of memory",
		      num_bytes(n, db->o.memory));
	return err_hint(err, "select less, or allow more: --memory 4G");
}

/* The first tables that have the column; how many have it. */
static int put_tables_with(struct buf *b, const char *name)
{
	struct store_table_row row[STORE_TABLES];
	int n = 0;

	store_tables(row);
	for (int i = 0; i < STORE_COLUMNS; i++)
		if (!strcasecmp(store_columns[i].key, name) && n++ < 4)
			buf_printf(b, "%s%s", n > 1 ? ", " : "",
				   row[store_table_of((enum store_column_id)i)].name);
	if (n > 4)
		buf_puts(b, ", ...");
	return n;
}

/* It is a column, but of other tables than those of the query. */
static int column_elsewhere(const char *name, struct err *err)
{
	struct buf b = BUF_INIT;
	int n = put_tables_with(&b, name), ret;

	ret = err_hint(err, "%s %s this column: join it by run", buf_str(&b),
		       n > 1 ? "have" : "has");
	buf_free(&b);
	return ret;
}

/* A column of several tables of the query. */
static int ambiguous(const char *what, struct err *err)
{
	const char *name = strrchr(what, ' ');
	struct buf b = BUF_INIT;

	(void)err_set(err, ERR_USAGE, "SQL: %s", what);
	if (name && put_tables_with(&b, name + 1))
		(void)err_hint(err, "say of which table, as in TABLE.%s: %s have it", name + 1,
			       buf_str(&b));
	buf_free(&b);
	return -1;
}

/* A name that does not exist: SQLite's message, and a similar name. */
static int no_sql_such(struct sql *db, const char *what, struct err *err)
{
	const char *name = strrchr(what, ' ');
	const char *const *names = strstr(what, "no such table")
					   ? sql_table_names(&db->a, &db->o, &db->traces)
					   : sql_column_names(&db->a);
	const char *near = name && names ? text_nearest(name + 1, names) : NULL;
	const struct ibs_event *e = name ? ibs_event_find(db->o.own, name + 1) : NULL;

	if (e && !e->name) {
		(void)err_set(err, ERR_USAGE, "%s is no event of IBS: %s", e->code, e->means);
		return err_hint(err, "cyclade list ibs shows all");
	}
	if (e && strstr(what, "no such table") && sql_ibs_exists(db, e, err))
		return -1;
	(void)err_set(err, ERR_USAGE, "%s", what);
	if (near && !strcasecmp(near, name + 1) && strstr(what, "no such column"))
		return column_elsewhere(near, err);
	if (near)
		return err_hint(err, "did you mean %s? cyclade list tables shows all", near);
	return err_hint(err, "cyclade list tables shows all tables and columns");
}

int sql_failed(struct sql *db, int rc, struct err *err)
{
	const char *what = db->db ? sqlite.errmsg(db->db) : sqlite.errstr(rc);

	if (db->late) {
		char n[NUM_MAX];

		(void)err_set(err, ERR_LIMIT, "the query was ended after %s",
			      num_seconds(n, (double)db->o.timeout_ns / 1e9));
		return err_hint(err, "select less, or allow more time: --timeout");
	}
	if (db->stopped)
		return err_set(err, ERR_LIMIT, "the query was ended by a signal");
	if (db->err.code != ERR_NONE) {
		*err = db->err;
		return -1;
	}
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return no_memory(db, err);
	case SQLITE_TOOBIG:
		return err_set(err, ERR_LIMIT, "a text or blob of the query is too large");
	case SQLITE_READONLY:
	case SQLITE_AUTH:
		(void)err_set(err, ERR_USAGE, "recordings can only be read: %s", what);
		return err_hint(err,
				"a query is one SELECT over the tables of cyclade list tables");
	default:
		if (strstr(what, "no such table") || strstr(what, "no such column"))
			return no_sql_such(db, what, err);
		if (strstr(what, "ambiguous column name"))
			return ambiguous(what, err);
		return err_set(err, ERR_USAGE, "SQL: %s", what);
	}
}

/* ---- closed ---------------------------------------------------------------------------------- */

static bool is_harmless(const char *function)
{
	static const char *const not_these[] = { "load_extension", "fts3_tokenizer", "readfile",
						 "writefile",	   "edit",	     "sqlite_log" };

	for (size_t i = 0; i < sizeof(not_these) / sizeof(*not_these); i++)
		if (!strcasecmp(function, not_these[i]))
			return false;
	return true;
}

int sql_declare(struct sql *db, const struct buf *create)
{
	int rc;

	if (create->failed)
		return SQLITE_NOMEM;
	db->declaring = true;
	rc = sqlite.declare_vtab(db->db, buf_str(create));
	db->declaring = false;
	return rc;
}

static int authorize(void *ctx, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	const struct sql *db = ctx;

	(void)a;
	(void)c;
	(void)d;
	if (db->declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && is_harmless(b) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static void set_limits(sqlite3 *db)
{
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 64 << 20 },
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_COLUMN, 1000 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },
		{ SQLITE_LIMIT_VDBE_OP, 1000000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 100 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		(void)sqlite.limit(db, limits[i].what, limits[i].most);
}

/* Sorting goes to an unlinked temporary file if it needs more than the cache. */
static int close_doors(struct sql *db, struct err *err)
{
	int rc = sqlite.exec(db->db, "PRAGMA cache_size=-65536", NULL, NULL, NULL);

	set_limits(db->db);
	(void)sqlite.db_config(db->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite.db_config(db->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	(void)sqlite.db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite.set_authorizer(db->db, authorize, db);
	sqlite.progress_handler(db->db, CHECK_EVERY, on_progress, db);
	return rc == SQLITE_OK ? 0 : sql_failed(db, rc, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

int sql_open(struct sql **out, const struct sql_opts *opts, struct err *err)
{
	struct sql *db;
	int rc;

	*out = NULL;
	if (sqlite_open(err))
		return -1;
	db = calloc(1, sizeof(*db));
	if (!db)
		return err_nomem(err);
	*out = db;
	db->o = *opts;
	if (!db->o.memory)
		db->o.memory = MEMORY;
	(void)sqlite.hard_heap_limit64(
		(sqlite3_int64)(db->o.memory < INT64_MAX ? db->o.memory : INT64_MAX));
	rc = sqlite.open_v2(":memory:", &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	db->runs = raw_runs_open(opts->run, opts->n_runs);
	sql_traces(&db->traces, &db->a, &db->o);
	if (rc == SQLITE_OK && !sql_tables_register(db, err) && !sql_functions_register(db, err) &&
	    !close_doors(db, err))
		return 0;
	if (err->code == ERR_NONE)
		(void)sql_failed(db, rc, err);
	sql_close(db);
	*out = NULL;
	return -1;
}

void sql_close(struct sql *db)
{
	if (!db)
		return;
	(void)sqlite.close(db->db);
	raw_runs_close(db->runs);
	arena_free(&db->a);
	free(db);
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Text behind the statement must be empty, or a comment: SQLite compiles it to nothing. */
static int one_statement(struct sql *db, const char *tail, struct err *err)
{
	sqlite3_stmt *more = NULL;
	int rc = sqlite.prepare_v2(db->db, tail, -1, &more, NULL);
	bool empty = rc == SQLITE_OK && !more;

	(void)sqlite.finalize(more);
	return empty ? 0 : err_set(err, ERR_USAGE, "more than one statement: one at a time");
}

static int sql_rows_of(struct sql *db, sqlite3_stmt *s, struct document *d, struct err *err)
{
	struct sql_rows *rows = NULL;
	int rc;

	if (sql_rows_open(&rows, d, s, db->o.memory, err))
		return -1;
	while ((rc = sqlite.step(s)) == SQLITE_ROW)
		if (sql_rows_add(rows, s, err))
			return -1;
	/* a walk that was ended early looks like one without more rows */
	if (rc != SQLITE_DONE || db->late || db->stopped)
		return sql_failed(db, rc, err);
	sql_rows_end(rows);
	return 0;
}

/* The tail of every result of recordings: losses, notes. If there are several recordings, their
 * sums. */
static int put_sql_tail(const struct sql *db, struct document *d, struct err *err)
{
	struct pd_losses *sum = arena_alloc(&d->a, sizeof(*sum));
	struct table t = { .form = &recorded_losses_form, .array = sum, .n = 1 };
	struct fact f[FACTS_MAX];

	if (!sum)
		return err_nomem(err);
	*sum = (struct pd_losses){ 0 };
	for (size_t i = 0; i < db->o.n_runs; i++) {
		const struct pd *rec = db->o.run[i].rec;
		struct view_source s;
		size_t n;

		if (!rec)
			continue;
		s = view_source_of(rec);
		n = source_facts(&s, f);
		pd_losses_add(sum, s.losses);
		for (size_t k = 0; k < n; k++)
			if (f[k].bad)
				document_fact(d, f[k].label, true, "%s", f[k].text);
		for (size_t k = 0; k < s.n_notes; k++)
			document_note(d, s.notes[k]);
	}
	document_table(d, &t);
	return 0;
}

int sql_query(struct sql *db, const char *text, struct document *d, struct err *err)
{
	sqlite3_stmt *s = NULL;
	const char *tail = "";
	int rc, ret = -1;

	if (sql_order_check(text, err))
		return -1;
	db->late = db->stopped = db->high = false;
	err_clear(&db->err);
	db->deadline = db->o.timeout_ns ? sql_now_ns() + db->o.timeout_ns : 0;
	rc = sql_ibs_views(db, text);
	if (rc == SQLITE_OK)
		rc = sqlite.prepare_v2(db->db, text, -1, &s, &tail);
	if (rc != SQLITE_OK)
		(void)sql_failed(db, rc, err);
	else if (!s)
		(void)err_set(err, ERR_USAGE, "the query is empty");
	else if (!one_statement(db, tail, err))
		ret = sql_rows_of(db, s, d, err) ? -1 : put_sql_tail(db, d, err);
	if (!ret) {
		sql_ibs_doubts(db, text, d);
		sql_order_doubts(db, text, d);
	}
	(void)sqlite.finalize(s);
	return ret;
}

bool sql_complete(const char *text)
{
	return sqlite.complete(text) != 0;
}
