/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of queries over tables of SQLite's own: what each type of value becomes in each kind of
 * column, names, many rows, and the limit of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/sql.h"
#include "store/sql_rows.h"
#include "store/sqlite_int.h"
#include "../skip.h"

static sqlite3 *db;

static int begin(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	if (sqlite_open(&err)) /* the tests say so */
		return 0;
	return sqlite.open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	       SQLITE_OK;
}

static int end(void **state)
{
	(void)state;
	if (db)
		(void)sqlite.close(db);
	return 0;
}

static void run(const char *text)
{
	if (!db)
		SKIP_BECAUSE("no SQLite here");
	if (sqlite.exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite.errmsg(db));
}

/* -1: `most` bytes were not enough. */
static int rows_of(struct buf *b, const char *query, uint64_t most, const char *format)
{
	struct show s = { .separator = ',' };
	struct err err = ERR_INIT;
	struct sql_rows *rows;
	struct document d;
	sqlite3_stmt *st;
	int rc = 0;

	if (!db)
		SKIP_BECAUSE("no SQLite here");
	buf_reset(b);
	assert_int_equal(show_choose(&s, &sql_document, format, NULL, &err), 0);
	document_open(&d, &sql_document, NULL);
	if (sqlite.prepare_v2(db, query, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", query, sqlite.errmsg(db));
	assert_int_equal(sql_rows_open(&rows, &d, st, most, &err), 0);
	while (!rc && sqlite.step(st) == SQLITE_ROW)
		rc = sql_rows_add(rows, st, &err);
	if (rc) {
		assert_int_equal(err.code, ERR_LIMIT);
		assert_non_null(strstr(err.what, "need more than"));
	} else {
		sql_rows_end(rows);
		assert_int_equal(document_write(b, &d, &s, &err), 0);
	}
	(void)sqlite.finalize(st);
	document_close(&d);
	return rc;
}

static void is(const char *query, const char *want)
{
	struct buf b = BUF_INIT;

	assert_int_equal(rows_of(&b, query, UINT64_MAX, "csv"), 0);
	assert_string_equal(buf_str(&b), want);
	buf_free(&b);
}

/* Without a declared type a column is what its first value is; SQL lets each row differ. */
static void plain(void **state)
{
	(void)state;
	is("SELECT 1 AS a, -2 AS b, 1.5 AS c, 'x' AS d, NULL AS e, x'00ff' AS f",
	   "a,b,c,d,e,f\n1,-2,1.5,x,,00ff\n");
	is("SELECT NULL AS a UNION ALL SELECT 'x' UNION ALL SELECT 7 UNION ALL SELECT 2.5",
	   "a\n\nx\n7\n2.5\n");
	is("SELECT 9223372036854775807 AS a UNION ALL SELECT -9223372036854775808 ORDER BY 1",
	   "a\n-9223372036854775808\n9223372036854775807\n");
	is("SELECT CAST(x'610062' AS TEXT) AS a", "a\na\\x00b\n");
	is("SELECT 1 AS a WHERE 0", "a\n");
	/* keys of an object differ */
	is("SELECT 1 AS x, 2 AS x, 3 AS x_2, 4 AS x, 5 AS y", "x,x_2,x_2_2,x_3,y\n1,2,3,4,5\n");
}

/* Columns of tables whose types are cyclade's. */
static void kinds(void **state)
{
	(void)state;
	run("CREATE TABLE k (i \"ID INT\", n \"COUNT INT\", s \"SIGNED INT\", a \"ADDRESS INT\","
	    " b \"BYTES INT\", f \"FLAG INT\", m \"AMOUNT REAL\", r \"NUMBER REAL\","
	    " h \"SHARE REAL\", t \"SECONDS REAL\", x \"TEXT\")");
	run("INSERT INTO k VALUES (1, 2, -3, 255, 4096, 1, 5, 6, 0.25, 7, 'w'),"
	    " (-1, -2, 3, -1, -4096, 0, 0.5, -6.25, 1, 0.125, 8),"
	    " (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
	    " ('t', 1.5, 2.5, 'u', 3.5, 'v', 'w', 'x', 'y', 'z', 4.5)");
	is("SELECT * FROM k", "i,n,s,a,b,f,m,r,h,t,x\n"
			      "1,2,-3,0xff,4096,1,5,6,0.25,7,w\n"
			      "-1,-2,3,0xffffffffffffffff,-4096,0,0.5,-6.25,1,0.125,8\n"
			      ",,,,,,,,,,\n"
			      "t,1.5,2.5,u,3.5,v,w,x,y,z,4.5\n");
}

/* More rows than a block has, as often as they are walked. */
static void many(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		static const unsigned sizes[] = { 16, 17, 20000 };
		unsigned row = 0;
		char query[200];
		const char *p;

		(void)snprintf(
			query, sizeof(query),
			"WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c LIMIT "
			"%u) SELECT x AS a, 2 * x AS b FROM c",
			sizes[n]);
		assert_int_equal(rows_of(&b, query, UINT64_MAX, "csv"), 0);
		p = buf_str(&b);
		assert_int_equal(strncmp(p, "a,b\n", 4), 0);
		for (p += 4; *p; row++) {
			unsigned x, y;
			int len;

			assert_int_equal(sscanf(p, "%u,%u\n%n", &x, &y, &len), 2);
			assert_true(x == row && y == 2 * row);
			p += len;
		}
		assert_int_equal(row, sizes[n]);
	}
	buf_free(&b);
}

/* Blocks double, texts count as long as they are, blobs twice: they become digits. */
static void limit(void **state)
{
	static const struct {
		const char *query;
		uint64_t few;
	} row[] = {
		{ "SELECT printf('%.*c', 1000000, 'x') AS a", 900000 },
		{ "SELECT zeroblob(1000000) AS a", 1900000 },
		{ "SELECT zeroblob(1000000) AS a, printf('%.*c', 1000000, 'x') AS b", 2900000 },
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t used = db ? (uint64_t)sqlite.memory_used() : 0;

		assert_int_equal(rows_of(&b, row[i].query, used + (16u << 20), "csv"), 0);
		assert_int_equal(rows_of(&b, row[i].query, used + row[i].few, "csv"), -1);
	}
	assert_int_equal(rows_of(&b, "SELECT 1 AS a", 0, "csv"), -1);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(kinds),
		cmocka_unit_test(many),
		cmocka_unit_test(limit),
	};

	return cmocka_run_group_tests_name("store/sql_rows", tests, begin, end);
}
