/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that queries have besides SQLite's own:
 *
 *	address_order(x): a number in the order of unsigned addresses
 *	demangle(name), symbol(ip[, pid[, time[, run]]]), line(the same), hex(number)
 *	hist(x[, width]): the lower bound of x's bin, in powers of two or of that width
 *	bar(share[, width]): a bar of text
 *	p50(x), p90(x), p95(x), p99(x), quantile(x, q): aggregates, exact
 *	share_error(condition[, weight]): an aggregate; half the 95 % interval of the share of rows
 *	for which it holds
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "base/num.h"
#include "base/sort.h"
#include "symbol/names.h"
#include "store/sql_int.h"
#include "symbol/demangle.h"

#define BAR_MAX 200

/* ---- texts ----------------------------------------------------------------------------------- */

static void fn_demangle(sqlite3_context *x, int n, sqlite3_value **v)
{
	const char *name = (const char *)sqlite.value_text(v[0]);
	struct arena a = ARENA_INIT;
	const char *s;

	(void)n;
	if (!name)
		return;
	s = demangle(&a, name);
	if (s)
		sqlite.result_text(x, s, -1, SQLITE_TRANSIENT);
	else
		sqlite.result_error_nomem(x);
	arena_free(&a);
}

/* Numbers that are in the order of unsigned ones. */
static void fn_address_order(sqlite3_context *x, int n, sqlite3_value **v)
{
	(void)n;
	if (sqlite.value_type(v[0]) == SQLITE_INTEGER)
		sqlite.result_int64(x, sqlite.value_int64(v[0]) ^ INT64_MIN);
	else if (sqlite.value_type(v[0]) != SQLITE_NULL)
		sqlite.result_error(x, "address_order(x): x is an address, as ip or 0x...", -1);
}

/* A number becomes "0x1f"; a text or blob its bytes, as in SQLite's own hex(). */
static void fn_hex(sqlite3_context *x, int n, sqlite3_value **v)
{
	struct buf b = BUF_INIT;

	(void)n;
	if (sqlite.value_type(v[0]) == SQLITE_NULL)
		return;
	if (sqlite.value_type(v[0]) == SQLITE_INTEGER) {
		buf_puts(&b, "0x");
		buf_put_hex(&b, (uint64_t)sqlite.value_int64(v[0]));
	} else {
		const uint8_t *p = sqlite.value_blob(v[0]);
		int len = sqlite.value_bytes(v[0]);

		buf_fill(&b, '0', p ? 2 * (size_t)len : 0);
		for (size_t i = 0; p && i < (size_t)len && !b.failed; i++) {
			b.s[2 * i] = "0123456789ABCDEF"[p[i] >> 4];
			b.s[2 * i + 1] = "0123456789ABCDEF"[p[i] & 15];
		}
	}
	if (b.failed)
		sqlite.result_error_nomem(x);
	else
		sqlite.result_text64(x, buf_str(&b), b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	buf_free(&b);
}

static void fn_bar(sqlite3_context *x, int n, sqlite3_value **v)
{
	double share = sqlite.value_double(v[0]);
	int width = n > 1 ? sqlite.value_int(v[1]) : 20;
	char s[BAR_MAX + 1];
	int len;

	if (sqlite.value_type(v[0]) == SQLITE_NULL)
		return;
	if (width < 0 || width > BAR_MAX)
		width = BAR_MAX;
	share = share > 1 ? 1 : share > 0 ? share : 0;
	len = (int)lround(share * width);
	memset(s, '#', (size_t)len);
	sqlite.result_text(x, s, len, SQLITE_TRANSIENT);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* NULL: nothing known. */
static struct name *fn_name_of(sqlite3_context *x, int n, sqlite3_value **v)
{
	const struct sql *db = sqlite.user_data(x);
	uint64_t ip = (uint64_t)sqlite.value_int64(v[0]);
	uint32_t pid = n > 1 ? (uint32_t)sqlite.value_int64(v[1]) : UINT32_MAX;
	uint64_t time = n > 2 ? (uint64_t)sqlite.value_int64(v[2]) : INT64_MAX;
	uint64_t run = n > 3 ? (uint64_t)sqlite.value_int64(v[3]) : 1;

	if (sqlite.value_type(v[0]) == SQLITE_NULL)
		return NULL;
	return raw_name(db->runs, run, pid, time, ip, ip >> 63);
}

static void fn_symbol(sqlite3_context *x, int n, sqlite3_value **v)
{
	const struct name *name = fn_name_of(x, n, v);

	if (name && name->function)
		sqlite.result_text(x, name->function, -1, SQLITE_STATIC);
}

static void fn_line(sqlite3_context *x, int n, sqlite3_value **v)
{
	struct sql *db = sqlite.user_data(x);
	struct err err = ERR_INIT;
	struct name *name = fn_name_of(x, n, v);
	char *s;

	if (!name)
		return;
	if (raw_line(db->runs, n > 3 ? (uint64_t)sqlite.value_int64(v[3]) : 1, name, &err)) {
		sqlite.result_error(x, err.what, -1);
		return;
	}
	if (!name->file)
		return;
	s = sqlite.mprintf("%s:%u", name->file, name->line);
	if (s)
		sqlite.result_text(x, s, -1, sqlite.free);
	else
		sqlite.result_error_nomem(x);
}

/* ---- bins ------------------------------------------------------------------------------------ */

static void fn_hist(sqlite3_context *x, int n, sqlite3_value **v)
{
	double a = sqlite.value_double(v[0]), w = n > 1 ? sqlite.value_double(v[1]) : 0, low;

	if (sqlite.value_numeric_type(v[0]) == SQLITE_NULL)
		return;
	if (n > 1 && !(w > 0)) {
		sqlite.result_error(x, "hist(x, width): width is more than 0", -1);
		return;
	}
	low = n > 1 ? floor(a / w) * w : a == 0 ? 0 : copysign(exp2(floor(log2(fabs(a)))), a);
	if (fabs(low) < 9e15 && low == floor(low))
		sqlite.result_int64(x, (sqlite3_int64)low);
	else
		sqlite.result_double(x, low);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

struct values {
	double *v;
	sqlite3_uint64 n, cap;
	double q;
	bool failed;
};

static void step_quantile(sqlite3_context *x, int n, sqlite3_value **v)
{
	struct values *a = sqlite.aggregate_context(x, sizeof(*a));
	const double *fixed = sqlite.user_data(x);

	if (!a || a->failed || sqlite.value_type(v[0]) == SQLITE_NULL)
		return;
	a->q = n > 1 ? sqlite.value_double(v[1]) : *fixed;
	if (a->n == a->cap) {
		sqlite3_uint64 cap = a->cap ? a->cap * 2 : 64;
		double *more = sqlite.realloc64(a->v, cap * sizeof(*more));

		if (!more) {
			a->failed = true;
			sqlite.result_error_nomem(x);
			return;
		}
		a->v = more;
		a->cap = cap;
	}
	a->v[a->n++] = sqlite.value_double(v[0]);
}

/* Between the two nearest ranks. */
static void end_quantile(sqlite3_context *x)
{
	struct values *a = sqlite.aggregate_context(x, 0);

	if (!a)
		return;
	if (a->failed) {
		sqlite.result_error_nomem(x);
	} else if (!(a->q >= 0 && a->q <= 1)) {
		sqlite.result_error(x, "quantile(x, q): q is 0 to 1", -1);
	} else if (a->n) {
		double at = a->q * (double)(a->n - 1), low = floor(at);
		size_t i = (size_t)low;

		qsort(a->v, a->n, sizeof(*a->v), num_order);
		sqlite.result_double(
			x, i + 1 < a->n ? a->v[i] + (at - low) * (a->v[i + 1] - a->v[i]) : a->v[i]);
	}
	sqlite.free(a->v);
	a->v = NULL;
}

/* ---- errors ---------------------------------------------------------------------------------- */

struct shares {
	double part, all, squares;
};

static void fn_step_share(sqlite3_context *x, int n, sqlite3_value **v)
{
	struct shares *s = sqlite.aggregate_context(x, sizeof(*s));
	double w = n > 1 ? sqlite.value_double(v[1]) : 1;

	if (!s || (n > 1 && sqlite.value_type(v[1]) == SQLITE_NULL))
		return;
	s->all += w;
	s->squares += w * w;
	if (sqlite.value_type(v[0]) != SQLITE_NULL && sqlite.value_double(v[0]) != 0)
		s->part += w;
}

static void end_share(sqlite3_context *x)
{
	struct shares *s = sqlite.aggregate_context(x, 0);
	struct error_bar e;

	if (!s || !(s->all > 0))
		return;
	e = error_bar_share(s->part, s->all, s->squares);
	if (isfinite(e.half))
		sqlite.result_double(x, e.half);
}

/* ---- registration ---------------------------------------------------------------------------- */

typedef void scalar_fn(sqlite3_context *x, int n, sqlite3_value **v);

static int add_scalar(struct sql *db, const char *name, int n, scalar_fn *f)
{
	return sqlite.create_function_v2(db->db, name, n,
					 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, db,
					 f, NULL, NULL, NULL);
}

static int add_aggregate(struct sql *db, const char *name, int n, void *ctx, scalar_fn *step,
			 void (*end)(sqlite3_context *x))
{
	return sqlite.create_function_v2(db->db, name, n,
					 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, ctx,
					 NULL, step, end, NULL);
}

int sql_functions_register(struct sql *db, struct err *err)
{
	static struct {
		const char *name;
		double q;
	} fixed[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 } };
	static const struct {
		const char *name;
		int least, most;
		scalar_fn *f;
	} scalars[] = {
		{ "demangle", 1, 1, fn_demangle },
		{ "hex", 1, 1, fn_hex },
		{ "bar", 1, 2, fn_bar },
		{ "hist", 1, 2, fn_hist },
		{ "address_order", 1, 1, fn_address_order },
		{ "symbol", 1, 4, fn_symbol },
		{ "line", 1, 4, fn_line },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
		for (int n = scalars[i].least; n <= scalars[i].most && rc == SQLITE_OK; n++)
			rc = add_scalar(db, scalars[i].name, n, scalars[i].f);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed) && rc == SQLITE_OK; i++)
		rc = add_aggregate(db, fixed[i].name, 1, &fixed[i].q, step_quantile, end_quantile);
	if (rc == SQLITE_OK)
		rc = add_aggregate(db, "quantile", 2, NULL, step_quantile, end_quantile);
	for (int n = 1; n <= 2 && rc == SQLITE_OK; n++)
		rc = add_aggregate(db, "share_error", n, NULL, fn_step_share, end_share);
	return rc == SQLITE_OK ? 0 : sql_failed(db, rc, err);
}
