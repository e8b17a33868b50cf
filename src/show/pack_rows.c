/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/pack_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/vec.h"

#define FEW_ROWS 4u	     /* fewer rows stand as they are */
#define EXACT	 (1LL << 53) /* numbers beyond are not exact in a script */

struct pack_column {
	struct json j;
	struct buf text; /* "[1,2" */
	VEC(size_t) end; /* by row: of its cell in `text` */
};

void pack_rows_open(struct pack_rows *g, size_t columns)
{
	if (columns > g->room) {
		struct pack_column *v = realloc(g->column, columns * sizeof(*v));

		g->failed |= !v;
		if (v) {
			memset(v + g->room, 0, (columns - g->room) * sizeof(*v));
			g->column = v;
			g->room = columns;
		}
	}
	g->n = 0;
	g->n_columns = columns < g->room ? columns : g->room;
	for (size_t i = 0; i < g->n_columns; i++) {
		struct pack_column *c = &g->column[i];

		c->end.n = 0;
		buf_reset(&c->text);
		json_init(&c->j, &c->text, false);
		c->j.in_page = true;
		json_array(&c->j, NULL);
	}
}

struct json *pack_rows_cell(struct pack_rows *g, size_t column)
{
	assert(column < g->n_columns || g->failed);
	return column < g->n_columns ? &g->column[column].j : NULL;
}

void pack_rows_next(struct pack_rows *g)
{
	for (size_t i = 0; i < g->n_columns; i++) {
		struct pack_column *c = &g->column[i];

		if (vec_push(&c->end, c->text.len))
			g->failed = true;
	}
	g->n++;
}

size_t pack_rows_bytes(const struct pack_rows *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_columns; i++)
		n += g->column[i].text.len;
	return n;
}

/* ---- one column ------------------------------------------------------------------------------ */

struct cells { /* some of a column's */
	const struct pack_column *c;
	uint32_t *row; /* which */
	size_t n;
};

static const char *cell_text(const struct cells *v, size_t i, size_t *len)
{
	uint32_t row = v->row[i];
	size_t from = row ? v->c->end.v[row - 1] + 1 : 1; /* behind the comma, or the bracket */

	*len = v->c->end.v[row] - from;
	return v->c->text.s + from;
}

static bool is_same(const struct cells *v, size_t a, size_t b)
{
	size_t n, m;
	const char *x = cell_text(v, a, &n), *y = cell_text(v, b, &m);

	return n == m && !memcmp(x, y, n);
}

static bool is_null(const struct cells *v, size_t i)
{
	size_t n;
	const char *x = cell_text(v, i, &n);

	return n == 4 && !memcmp(x, "null", 4);
}

static void put_cell(struct buf *out, const struct cells *v, size_t i)
{
	size_t n;
	const char *x = cell_text(v, i, &n);

	buf_put(out, x, n);
}

/* Reads a whole number, or an address: "0x1f" in quotes. */
static bool read_cell(const struct cells *v, size_t i, bool *address, uint64_t *out)
{
	size_t n;
	const char *x = cell_text(v, i, &n), *end = x + n;
	bool minus = n && *x == '-';
	uint64_t sum = 0;

	*address = n > 4 && n <= 20 && x[0] == '"' && x[1] == '0' && x[2] == 'x';
	if (*address) {
		for (x += 3; x < end - 1; x++) {
			unsigned digit = *x >= '0' && *x <= '9'	  ? (unsigned)(*x - '0')
					 : *x >= 'a' && *x <= 'f' ? (unsigned)(*x - 'a' + 10)
								  : 16;

			if (digit > 15)
				return false;
			sum = sum << 4 | digit;
		}
		*out = sum;
		return end[-1] == '"';
	}
	x += minus;
	if (x == end || end - x > 15)
		return false;
	for (; x < end; x++) {
		if (*x < '0' || *x > '9')
			return false;
		sum = sum * 10 + (unsigned)(*x - '0');
	}
	*out = minus ? 0 - sum : sum;
	return true;
}

/* The differences of numbers from those before, of addresses from the second on; false if the cells
 * are neither. */
static bool put_deltas(struct buf *out, const struct cells *v)
{
	bool address, first = false;
	uint64_t last = 0, x;
	const char *comma = "";

	for (size_t i = 0; i < v->n; i++) {
		int64_t d;

		if (!read_cell(v, i, &address, &x) || (i && address != first))
			return false;
		first = address;
		d = (int64_t)(x - last);
		last = x;
		if (i || !address) {
			if (d >= EXACT || d <= -EXACT)
				return false;
			buf_printf(out, "%s%" PRId64, comma, d);
			comma = ",";
			continue;
		}
		buf_puts(out, "{\"from\":");
		put_cell(out, v, 0);
		buf_puts(out, ",\"deltas\":[");
	}
	buf_puts(out, "]}");
	return true;
}

static void put_cells(struct buf *out, const struct cells *v, bool *failed);

/* Only those of `v` that `keep` has, with the distance of each from the one before. */
static void put_some(struct buf *out, const struct cells *v, const char *word,
		     bool (*keep)(const struct cells *v, size_t i), bool *failed)
{
	struct cells some = { v->c, malloc((v->n + 1) * sizeof(*some.row)), 0 };
	size_t last = 0;

	if (!some.row) {
		*failed = true;
		return;
	}
	buf_printf(out, "{\"%s\":[", word);
	for (size_t i = 0; i < v->n; i++) {
		if (!keep(v, i))
			continue;
		buf_printf(out, some.n ? ",%zu" : "%zu", i - last);
		last = i;
		some.row[some.n++] = v->row[i];
	}
	buf_puts(out, "],\"of\":");
	put_cells(out, &some, failed);
	buf_putc(out, '}');
	free(some.row);
}

static bool has_value(const struct cells *v, size_t i)
{
	return !is_null(v, i);
}

static bool is_new(const struct cells *v, size_t i)
{
	return !i || !is_same(v, i, i - 1);
}

static void put_plain(struct buf *out, const struct cells *v)
{
	struct buf deltas = BUF_INIT;
	size_t plain = 2, n;

	for (size_t i = 0; i < v->n; i++) {
		(void)cell_text(v, i, &n);
		plain += n + 1;
	}
	{
		bool address;
		uint64_t x;

		if (v->n > FEW_ROWS && read_cell(v, 0, &address, &x)) {
			if (!address)
				buf_puts(&deltas, "{\"deltas\":[");
			if (!put_deltas(&deltas, v))
				buf_reset(&deltas);
		}
	}
	if (deltas.len && deltas.len < plain) {
		buf_put(out, deltas.s, deltas.len);
	} else {
		buf_putc(out, '[');
		for (size_t i = 0; i < v->n; i++) {
			if (i)
				buf_putc(out, ',');
			put_cell(out, v, i);
		}
		buf_putc(out, ']');
	}
	out->failed |= deltas.failed;
	buf_free(&deltas);
}

static void put_cells(struct buf *out, const struct cells *v, bool *failed)
{
	size_t fresh = 0, values = 0;

	for (size_t i = 0; i < v->n; i++) {
		fresh += is_new(v, i);
		values += has_value(v, i);
	}
	if (v->n >= FEW_ROWS && fresh == 1) {
		buf_puts(out, "{\"same\":");
		put_cell(out, v, 0);
		buf_putc(out, '}');
	} else if (v->n >= FEW_ROWS && values < v->n / 2 && values <= fresh) {
		put_some(out, v, "at", has_value, failed);
	} else if (v->n >= FEW_ROWS && fresh < v->n / 2) {
		put_some(out, v, "runs", is_new, failed);
	} else {
		put_plain(out, v);
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static void put_rows(struct buf *out, const struct pack_rows *g, uint32_t *row, bool bare)
{
	for (uint32_t r = 0; r < g->n; r++) {
		buf_puts(out, r ? "," : "");
		buf_puts(out, bare ? "" : "[");
		for (size_t i = 0; i < g->n_columns; i++) {
			const struct cells v = { &g->column[i], row, g->n };

			buf_puts(out, i ? "," : "");
			put_cell(out, &v, r);
		}
		buf_puts(out, bare ? "" : "]");
	}
	buf_putc(out, ']');
}

void pack_rows_put(struct pack_rows *g, struct json *j, const char *key, bool bare)
{
	uint32_t *row = malloc((g->n + 1) * sizeof(*row));

	g->failed |= !row;
	for (size_t i = 0; i < g->n_columns; i++)
		g->failed |= g->column[i].text.failed;
	if (g->failed) {
		json_null(j, key);
		free(row);
		return;
	}
	for (uint32_t r = 0; r < g->n; r++)
		row[r] = r;
	if (bare || g->n < FEW_ROWS || !g->n_columns) {
		json_begin(j, key);
		buf_putc(j->out, '[');
		put_rows(j->out, g, row, bare);
		free(row);
		return;
	}
	json_object(j, key);
	json_u64(j, "n", g->n);
	json_begin(j, "columns");
	for (size_t i = 0; i < g->n_columns; i++) {
		const struct cells v = { &g->column[i], row, g->n };

		buf_putc(j->out, i ? ',' : '[');
		put_cells(j->out, &v, &g->failed);
		buf_spill(j->out);
	}
	buf_putc(j->out, ']');
	json_end_object(j);
	free(row);
}

void pack_rows_free(struct pack_rows *g)
{
	for (size_t i = 0; i < g->room; i++) {
		buf_free(&g->column[i].text);
		vec_free(&g->column[i].end);
	}
	free(g->column);
	*g = (struct pack_rows){ 0 };
}
