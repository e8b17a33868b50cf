/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/num.h"

const struct table_column *table_columns(const struct table *t, size_t *n)
{
	*n = t->column ? t->n_columns : t->form->n_columns;
	return t->column ? t->column : t->form->column;
}

bool table_has(const struct table *t, size_t column, unsigned not_flags)
{
	size_t n;
	const struct table_column *c = &table_columns(t, &n)[column];

	return !(c->flags & not_flags) && (column >= 64 || !(t->hidden >> column & 1));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The cursor counts the rows that it moved to, so that it stands before row r->i + 1. */
bool table_next(const struct table *t, struct table_row *r)
{
	size_t next = r->p ? r->i + 1 : 0;

	if (t->form->next) {
		if (!t->form->next(t, r))
			return false;
		assert(r->p);
	} else {
		if (next >= t->n)
			return false;
		r->p = (const char *)t->array + next * t->stride;
	}
	r->i = next;
	return true;
}

size_t table_rows(const struct table *t)
{
	struct table_row r = { 0 };
	size_t n = 0;

	if (!t->form->next)
		return t->n;
	while (table_next(t, &r))
		n++;
	return n;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static bool is_estimate(enum table_kind kind)
{
	return kind == T_AMOUNT || kind == T_REAL || kind == T_SHARE || kind == T_SECONDS;
}

/* An integer of a field; false: it is none. */
static bool read_integer(int64_t *out, enum table_type type, const void *at)
{
	uint16_t n16;
	uint32_t n32;

	switch (type) {
	case F_U8:
		*out = *(const uint8_t *)at;
		return true;
	case F_U16:
		memcpy(&n16, at, sizeof(n16));
		*out = n16;
		return true;
	case F_U32:
	case F_I32:
		memcpy(&n32, at, sizeof(n32));
		*out = type == F_U32 ? (int64_t)n32 : (int32_t)n32;
		return true;
	case F_U64:
	case F_I64:
		memcpy(out, at, sizeof(*out));
		return true;
	default:
		return false;
	}
}

static bool is_max(enum table_type type, int64_t n)
{
	return n == -1 || (type == F_U8 && n == UINT8_MAX) || (type == F_U16 && n == UINT16_MAX) ||
	       (type == F_U32 && n == UINT32_MAX);
}

static const char *name_number(const struct table_column *c, uint64_t n)
{
	if (c->name_of)
		return c->name_of((unsigned)n);
	return n < c->names.n ? *(const char *const *)(const void *)((const char *)c->names.v +
								     n * c->names.stride)
			      : NULL;
}

static void read_field(struct table_cell *x, const struct table *t, const struct table_column *c,
		       const void *row)
{
	const struct table_field *f = &c->field;
	const char *at = f->of_ctx ? t->ctx : row;
	int64_t n;

	for (unsigned i = 0; i < f->n_via && at; i++)
		memcpy(&at, at + f->via[i], sizeof(at));
	if (!at) {
		x->none = true;
		return;
	}
	at += f->at;
	if (read_integer(&n, f->type, at)) {
		x->none = (c->flags & C_MAX_IS_NONE && is_max(f->type, n)) ||
			  (c->flags & C_0_IS_NONE && !n);
		if (x->kind == T_TEXT)
			x->text = x->none ? NULL : name_number(c, (uint64_t)n);
		else if (!is_estimate(x->kind))
			x->n = (uint64_t)n, x->i = n;
		else
			x->e.v = (f->type == F_U64 ? (double)(uint64_t)n : (double)n) /
				 (x->kind == T_SECONDS ? 1e9 : 1);
		return;
	}
	switch (f->type) {
	case F_DOUBLE:
		memcpy(&x->e.v, at, sizeof(x->e.v));
		break;
	case F_PAIR:
		memcpy(&x->e.v, at, sizeof(x->e.v));
		memcpy(&x->e.half, at - f->at + f->more, sizeof(x->e.half));
		break;
	case F_ESTIMATE:
		memcpy(&x->e, at, sizeof(x->e));
		break;
	case F_CHARS:
		x->text = at;
		break;
	case F_LIST:
		memcpy(&x->list, at, sizeof(x->list));
		memcpy(&x->n_list, at - f->at + f->more, sizeof(x->n_list));
		break;
	default:
		memcpy(&x->text, at, sizeof(x->text));
	}
}

void table_cell(struct table_cell *out, const struct table *t, const struct table_column *c,
		const struct table_row *r, struct buf *scratch)
{
	buf_reset(scratch);
	*out = (struct table_cell){ .kind = c->kind, .e = ESTIMATE_NONE(NULL), .scratch = scratch };
	if (c->field.type)
		read_field(out, t, c, r->p);
	if (c->get)
		c->get(t, c, r, out);
	if (c->flags & C_0_IS_NONE)
		out->none |= out->kind == T_TEXT     ? out->text && !*out->text
			     : out->kind == T_SIGNED ? !out->i
						     : !is_estimate(out->kind) && !out->n;
	if (out->kind == T_TEXT && !out->text)
		out->none = true;
	if (is_estimate(out->kind) && !isfinite(out->e.v))
		out->none = true;
	assert(!(out->e.half < 0));
}

const char *table_title(const struct table *t)
{
	return t->title ? t->title : t->form->title;
}

void table_put_head(struct buf *b, const struct table_column *c)
{
	for (const char *s = c->head; *s; s++)
		buf_putc(b, *s == '\n' ? ' ' : *s);
}

bool cell_has(const struct table_cell *x)
{
	return !x->none;
}

void cell_printf(struct table_cell *out, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_reset(out->scratch);
	buf_puts(out->scratch, text);
	out->text = buf_str(out->scratch);
}

void cell_estimate(struct table_cell *out, struct estimate e)
{
	out->e = e;
}

void cell_none(struct table_cell *out, const char *why)
{
	out->none = true;
	out->e.why = why;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void put_amount(struct buf *b, double v)
{
	char n[NUM_MAX];

	if (fabs(v) < 99.5)
		buf_printf(b, "%.3g", v);
	else
		buf_puts(b, num_count(n, fabs(v) < 1e6 ? round(v) : v));
}

static void put_table_share(struct buf *b, double v)
{
	char n[NUM_MAX];

	buf_puts(b, v > 0 && v < 0.0005 ? "<0.1 %" : num_percent(n, v));
}

static void put_table_list(struct buf *b, const struct table_cell *x)
{
	for (size_t i = 0; i < x->n_list; i++)
		buf_printf(b, "%s%s", i ? ", " : "", x->list[i]);
}

void cell_put(struct buf *b, const struct table_cell *x)
{
	char n[NUM_MAX];

	if (x->none) {
		buf_puts(b, x->says ? x->says : x->kind == T_TEXT || x->kind == T_FLAG ? "" : "-");
		return;
	}
	switch (x->kind) {
	case T_TEXT:
		buf_puts(b, x->text);
		buf_puts(b, x->tail ? x->tail : "");
		break;
	case T_LIST:
		put_table_list(b, x);
		break;
	case T_ID:
		buf_printf(b, "%" PRIu64, x->n);
		break;
	case T_COUNT:
		buf_puts(b, num_exact(n, x->n));
		break;
	case T_SIGNED:
		buf_printf(b, "%" PRId64, x->i);
		break;
	case T_ADDRESS:
		buf_printf(b, "0x%" PRIx64, x->n);
		break;
	case T_BYTES:
		buf_puts(b, num_bytes(n, x->n));
		break;
	case T_FLAG:
		buf_puts(b, x->n ? "yes" : "");
		break;
	case T_AMOUNT:
		put_amount(b, x->e.v);
		break;
	case T_REAL:
		buf_printf(b,
			   fabs(x->e.v) < 9999.5 ? "%.4g"
			   : fabs(x->e.v) < 1e6	 ? "%.0f"
						 : "%.3e",
			   x->e.v);
		break;
	case T_SHARE:
		buf_puts(b, x->sign && x->e.v >= 0 ? "+" : "");
		put_table_share(b, x->e.v);
		break;
	case T_SECONDS:
		buf_puts(b, num_seconds(n, x->e.v));
		break;
	}
}

/* Deep call trees have 40,000 of them: not by printf. */
static void put_half(struct buf *b, double half, const char *unit)
{
	char n[NUM_MAX];

	(void)num_fixed(n, half, 1);
	buf_puts(b, "+-");
	buf_puts(b, n);
	buf_puts(b, unit);
}

/* In % of the value; of 0 as it is. */
static void put_relative(struct buf *b, const struct estimate *e, enum table_kind kind)
{
	double share = e->half / fabs(e->v);
	char n[NUM_MAX];

	if (e->v == 0 && kind == T_SECONDS)
		buf_printf(b, "+-%s", num_seconds(n, e->half));
	else if (e->v == 0) {
		buf_puts(b, "+-");
		put_amount(b, e->half);
	} else if (!isfinite(share))
		buf_puts(b, "+-?");
	else if (share >= 0.9995)
		buf_puts(b, "+-100 %+");
	else
		put_half(b, 100 * share, " %");
}

static void put_points(struct buf *b, double half)
{
	if (half < 0.0005)
		buf_puts(b, "+-<0.1");
	else
		put_half(b, 100 * half, "");
}

void cell_put_error(struct buf *b, const struct table_cell *x)
{
	size_t at = b->len;

	if (x->none || !is_estimate(x->kind))
		return;
	if (isnan(x->e.half))
		buf_puts(b, "+-?");
	else if (x->kind == T_AMOUNT || x->kind == T_SECONDS)
		put_relative(b, &x->e, x->kind);
	else if (x->kind == T_SHARE)
		put_points(b, x->e.half);
	else if (x->e.half >= 99.5)
		buf_printf(b, "+-%.0f", x->e.half);
	else if (x->e.half > 0)
		buf_printf(b, "+-%.2g", x->e.half);
	if (x->mark && b->len > at)
		buf_putc(b, x->mark);
}

void table_put_rest(struct buf *b, const struct table *t, size_t shown)
{
	size_t n = t->people && shown >= t->people ? table_rows(t) : shown;
	char text[NUM_MAX];

	if (n > shown)
		buf_printf(b, "(%s more %s%s)", num_exact(text, n - shown),
			   t->form->rest ? t->form->rest : "row", n - shown == 1 ? "" : "s");
}

size_t table_enough(const struct table *t, size_t column, size_t least, size_t most, double small)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	size_t n_columns, n = 0;
	const struct table_column *c = &table_columns(t, &n_columns)[column];

	while (n < most && table_next(t, &r)) {
		table_cell(&x, t, c, &r, &scratch);
		if (n >= least && !(x.e.v >= small))
			break;
		n++;
	}
	buf_free(&scratch);
	return n;
}

bool table_names_things(const struct table_column *c)
{
	return (c->kind == T_TEXT || c->kind == T_LIST) &&
	       (c->flags & (C_FLEX | C_KEEP_END | C_CUT)) == C_FLEX;
}

bool table_empty(const struct table *t, size_t column)
{
	struct table_row r = { 0 };
	struct table_cell x;
	struct buf scratch = BUF_INIT;
	size_t n;
	const struct table_column *c = &table_columns(t, &n)[column];
	bool empty = c->flags & C_SPARSE;

	while (empty && (!t->people || !r.p || r.i + 1 < t->people) && table_next(t, &r)) {
		table_cell(&x, t, c, &r, &scratch);
		empty = x.none && (!x.says || !*x.says);
	}
	buf_free(&scratch);
	return empty;
}

/* ---- invariants ------------------------------------------------------------------------------ */

static bool is_sql_name(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(s) &&
	       !(*s >= '0' && *s <= '9');
}

/* The column's kind takes values of the field's type. */
static bool field_fits(const struct table_column *c)
{
	bool integer = c->field.type >= F_U8 && c->field.type <= F_I64;

	switch (c->field.type) {
	case F_NONE:
		return c->get;
	case F_TEXT:
	case F_CHARS:
		return c->kind == T_TEXT;
	case F_LIST:
		return c->kind == T_LIST;
	case F_DOUBLE:
	case F_ESTIMATE:
	case F_PAIR:
		return is_estimate(c->kind);
	default:
		return integer && c->kind != T_LIST &&
		       (c->kind != T_TEXT || c->names.v || c->name_of);
	}
}

/* Names of columns that come from data (a model's nodes) are not checked. */
void table_check(const struct table *t)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	assert(is_sql_name(t->form->name));
	for (size_t i = 0; i < n; i++) {
		assert(c[i].key && c[i].head && field_fits(&c[i]));
		assert(t->column || is_sql_name(c[i].key));
		assert(!(c[i].flags & C_DATA && c[i].flags & C_PEOPLE));
		for (size_t k = 0; k < i; k++)
			assert(strcmp(c[i].key, c[k].key) != 0 || c[i].nth != c[k].nth);
	}
	assert(!(t->form->flags & TABLE_LINES) || (n == 1 && c->kind == T_TEXT));
	assert(!(t->form->flags & TABLE_ONE) || table_rows(t) == 1);
	(void)c;
	(void)is_sql_name;
	(void)field_fits;
}
