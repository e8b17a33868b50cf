/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pager_sort - rows in the order of a column: numbers and the first bytes of texts by radix; texts
 * that are alike in these by comparison.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sort.h"
#include "cli/screen/pager_int.h"

struct sorting {
	struct keyed *v, *scratch; /* .a: the row; .b: its text */
	size_t n;
	uint32_t *none; /* rows without a value */
	size_t n_none;
	struct buf texts;
	size_t *text; /* by .b: where it begins */
	bool reverse;
};

static bool is_text(enum table_kind kind)
{
	return kind == T_TEXT || kind == T_LIST;
}

static bool goes_up(enum table_kind kind)
{
	return is_text(kind) || kind == T_ID || kind == T_ADDRESS;
}

/* In the order of the number. */
static uint64_t key_of_real(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of_text(const char *s)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < 8; i++) {
		key = key << 8 | (unsigned char)*s;
		s += *s != 0;
	}
	return key;
}

static uint64_t key_of(const struct table_cell *x)
{
	switch (x->kind) {
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		return key_of_real(x->e.v);
	case T_SIGNED:
		return (uint64_t)x->i ^ (uint64_t)1 << 63;
	default:
		return x->n;
	}
}

/* A cell of another kind than its column's (a fold's name in place of a number) has no value. */
static void add(struct sorting *s, const struct table_column *c, const struct table_cell *x,
		uint32_t row)
{
	uint64_t key;

	if (!cell_has(x) || is_text(x->kind) != is_text(c->kind)) {
		s->none[s->n_none++] = row;
		return;
	}
	if (is_text(x->kind)) {
		s->text[s->n] = s->texts.len;
		cell_put(&s->texts, x);
		buf_putc(&s->texts, '\0');
		if (s->texts.failed)
			return;
		key = key_of_text(s->texts.s + s->text[s->n]);
	} else {
		key = key_of(x);
	}
	s->v[s->n] = (struct keyed){ s->reverse ? ~key : key, row, (uint32_t)s->n };
	s->n++;
}

static int take_keys(struct sorting *s, struct pager *p, const struct table_column *c,
		     struct err *err)
{
	struct buf scratch = BUF_INIT;
	struct table_cell x;
	struct table_row r = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->rows && rc >= 0 && !s->texts.failed; i++) {
		rc = pager_at(p, i, &r, err);
		if (rc <= 0)
			continue;
		table_cell(&x, p->t, c, &r, &scratch);
		add(s, c, &x, (uint32_t)i);
	}
	s->texts.failed |= scratch.failed;
	buf_free(&scratch);
	return rc < 0 ? -1 : buf_error(&s->texts, err);
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct keyed *x = a, *y = b;
	const struct sorting *s = ctx;
	int by = strcmp(s->texts.s + s->text[x->b], s->texts.s + s->text[y->b]);

	return by ? (s->reverse ? -by : by) : (x->a > y->a) - (x->a < y->a);
}

/* Where texts begin alike. */
static void sort_ties(struct sorting *s)
{
	for (size_t from = 0, to; from < s->n; from = to) {
		for (to = from + 1; to < s->n && s->v[to].key == s->v[from].key; to++)
			;
		if (to - from > 1)
			qsort_r(s->v + from, to - from, sizeof(*s->v), compare, s);
	}
}

static int sort_rows(struct pager *p, const struct table_column *c, bool reverse, struct err *err)
{
	struct sorting s = { .reverse = goes_up(c->kind) == reverse };
	size_t room = p->rows + 1;
	int rc = -1;

	s.v = malloc(room * sizeof(*s.v));
	s.scratch = malloc(room * sizeof(*s.scratch));
	s.none = malloc(room * sizeof(*s.none));
	s.text = is_text(c->kind) ? malloc(room * sizeof(*s.text)) : NULL;
	if (!p->sorted)
		p->sorted = malloc(room * sizeof(*p->sorted));
	if (!s.v || !s.scratch || !s.none || !p->sorted || (is_text(c->kind) && !s.text))
		(void)err_nomem(err);
	else if (!take_keys(&s, p, c, err))
		rc = 0;
	if (!rc) {
		keyed_sort(s.v, s.scratch, s.n);
		if (is_text(c->kind))
			sort_ties(&s);
		for (size_t i = 0; i < s.n; i++)
			p->sorted[i] = s.v[i].a;
		if (s.n_none)
			memcpy(p->sorted + s.n, s.none, s.n_none * sizeof(*s.none));
	}
	buf_free(&s.texts);
	free(s.text);
	free(s.none);
	free(s.scratch);
	free(s.v);
	return rc;
}

int pager_sort(struct pager *p, size_t column, bool reverse, struct err *err)
{
	size_t n;
	const struct table_column *c = table_columns(p->t, &n);
	uint32_t *order;

	if (column < n && (pager_index_all(p, err) || sort_rows(p, &c[column], reverse, err)))
		return -1;
	if (column >= n) {
		free(p->sorted);
		p->sorted = NULL;
	}
	if (p->tree.parent) {
		pager_tree_arrange(p);
		return 0;
	}
	free(p->order);
	p->order = NULL;
	if (!p->sorted)
		return 0;
	order = p->sorted; /* is the lines */
	p->sorted = NULL;
	p->order = order;
	p->n_order = p->rows;
	return 0;
}
