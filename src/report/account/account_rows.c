/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of an account by the nodes of all accounts, and how sure each of their figures is.
 */
#include <string.h>

#include "base/xalloc.h"
#include "report/account/account_result.h"
#include "report/column.h"
#include "report/recorded.h"

/* ---- rows and their cells: at[1] is the row, at[2] the node; r->p is the row ----------------- */

/* Sums of nested rows are for people. */
static bool account_cell_row_next(const struct table *t, struct table_row *r)
{
	r->at[1] += r->p != NULL;
	for (; r->at[0] < result_of(t)->n; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < result_view_of(t, r)->n_rows; r->at[1]++)
			if (!result_view_of(t, r)->row[r->at[1]].sum)
				return (r->p = &result_view_of(t, r)->row[r->at[1]]);
	return false;
}

static const struct account_cell *account_cell_of(const struct table *t, const struct table_row *r)
{
	return &account_view_cells(result_view_of(t, r), r->p)[r->at[2]];
}

/* Those that rest on samples, or lack a value for another reason than in all of the recording. */
static bool account_cell_next(const struct table *t, struct table_row *r)
{
	bool begun = r->p != NULL;

	if (!begun && !account_cell_row_next(t, r))
		return false;
	for (r->at[2] += begun;; r->at[2]++) {
		const struct account_cell *x, *all;

		if (r->at[2] == result_acc_of(t, r)->n) {
			if (!account_cell_row_next(t, r))
				return false;
			r->at[2] = 0;
		}
		x = account_cell_of(t, r);
		all = &result_view_of(t, r)->source.bound->whole[r->at[2]];
		if (result_acc_of(t, r)->node[r->at[2]].whole)
			continue;
		if (x->samples || x->why != all->why || x->which != all->which)
			return true;
	}
}

void account_key(const struct account_view *v, const struct account_row *r, size_t key,
		 struct table_cell *out)
{
	uint64_t x = r->row ? r->row->key[key] : 0;

	if (out->kind == T_TEXT) {
		if (r->row)
			put_result_text(
				out, strtab_get(profile_strings(v->source.profile), (uint32_t)x));
		return;
	}
	out->none = !r->row || (out->kind == T_ID && x == UINT64_MAX);
	out->n = x;
}

struct table_column account_key_column(const struct account_view *v, size_t key, unsigned flags,
				       table_get *get)
{
	enum profile_key k = profile_options(v->source.profile)->key[key];
	struct table_column c = column_table[column_of_key(k)].show;

	c.flags = C_KEY | flags;
	c.get = get;
	c.which = key;
	return c;
}

TABLE_CELL(account_cell_key, account_key(result_view_of(t, r), r->p, c->which, out))

TABLE_GET(account_cell_amount)
{
	const struct account_result *x = t->ctx;
	uint32_t node = x->node[r->at[0] * x->n_names + c->which];

	if (node != MODEL_NONE)
		put_result_value(out, &account_view_cells(result_view_of(t, r), r->p)[node]);
}

static const struct account_ran *account_cell_ran_of(const struct table *t,
						     const struct table_row *r)
{
	return account_view_ran(result_view_of(t, r), r->p);
}

TABLE_GET(account_cell_flow)
{
	const struct account_ran *x = account_cell_ran_of(t, r);
	struct flow_value v;

	if (!x)
		return;
	memcpy(&v, (const char *)x + c->which, sizeof(v));
	cell_flow(out, v);
	if (!out->e.why && result_view_of(t, r)->source.rans->late)
		out->e.why = flow_late;
}

TABLE_GET(account_cell_neighbours)
{
	const struct account_ran *x = account_cell_ran_of(t, r);
	uint32_t n = 0;

	if (x)
		memcpy(&n, (const char *)x + c->which, sizeof(n));
	out->n = n;
	out->none = !x || !x->has_calls;
}

#define ROW(member) TABLE_FIELD(struct account_row, member)
static const struct table_column fold_columns[] = {
	COLUMN("folded", "rows", T_COUNT, C_0_IS_NONE,
	       "rows that this one sums; null: it is a row itself", ROW(folded)),
	COLUMN("left_out", "left out", T_FLAG, 0, "by --focus or --hide", ROW(left_out)),
};
#undef ROW
#define RAN(member) .which = offsetof(struct account_ran, member)
static const struct table_column ran_columns[] = {
	COLUMN("insns", "insns", T_AMOUNT, C_ERROR | C_WHY, "instructions, by branch records",
	       .get = account_cell_flow, RAN(insns)),
	COLUMN("called", "called", T_AMOUNT, C_ERROR | C_WHY, "how often it was called",
	       .get = account_cell_flow, RAN(called)),
	COLUMN("callers", "callers", T_COUNT, 0, "functions that call it",
	       .get = account_cell_neighbours, RAN(callers)),
	COLUMN("callees", "callees", T_COUNT, 0, "functions that it calls",
	       .get = account_cell_neighbours, RAN(callees)),
};
#undef RAN

TABLE_CELL(account_cell_node, out->text = result_acc_of(t, r)->node[r->at[2]].name)
TABLE_CELL(cell_value, put_result_value(out, account_cell_of(t, r)))
TABLE_CELL(cell_lacks,
	   out->text = account_event_name(result_view_of(t, r), account_cell_of(t, r)->which))
TABLE_CELL(cell_samples, out->n = account_cell_of(t, r)->samples)
TABLE_CELL(cell_significant, out->n = account_cell_of(t, r)->significant)
TABLE_CELL(cell_overlap, out->n = account_cell_of(t, r)->overlap)
TABLE_CELL(cell_disagrees, out->n = account_cell_of(t, r)->disagrees)
static const struct table_column cell_columns[] = {
	COLUMN("node", "node", T_TEXT, C_KEY, "its name", .get = account_cell_node),
	COLUMN("value", "value", T_AMOUNT, C_ERROR | C_WHY, "of the row", .get = cell_value),
	COLUMN("lacks", "lacks", T_TEXT, 0, "the event that value_why is about", .get = cell_lacks),
	COLUMN("samples", "samples", T_COUNT, 0, "that it is made of", .get = cell_samples),
	COLUMN("significant", "significant", T_FLAG, 0, "differs from 0 by more than its error",
	       .get = cell_significant),
	COLUMN("overlap", "overlap", T_FLAG, 0, "exceeds what holds it", .get = cell_overlap),
	COLUMN("disagrees", "disagrees", T_FLAG, 0, "differs from what measures the same",
	       .get = cell_disagrees),
};

static const struct table_column pmu_column[] = { PMU };
/* The columns of both are known only of a recording and a model. */
const struct table_form account_rows_form = { "rows", NULL, TABLE_MAIN | TABLE_DATA | TABLE_GROWS,
					      TABLE_COLUMNS(pmu_column),
					      .next = account_cell_row_next };
const struct table_form account_cells_form = { "cells", NULL, TABLE_DATA | TABLE_GROWS,
					       TABLE_COLUMNS(pmu_column),
					       .next = account_cell_next };

/* Returns columns: the kind of cores, the keys, the fold; then room for `more`. */
static struct table_column *make_account_cell_columns(struct document *d,
						      const struct account_result *x, size_t more,
						      size_t *n)
{
	size_t n_keys = profile_options(x->v[0]->source.profile)->n_keys;
	struct table_column *c = arena_xalloc(&d->a, (3 + n_keys + more) * sizeof(*c));

	c[0] = pmu_column[0];
	for (size_t k = 0; k < n_keys; k++)
		c[1 + k] = account_key_column(x->v[0], k, 0, account_cell_key);
	c[1 + n_keys] = fold_columns[0];
	c[2 + n_keys] = fold_columns[1];
	*n = 3 + n_keys;
	return c;
}

void account_put_rows(struct document *d, const struct account_result *x)
{
	struct table t = { .form = &account_rows_form, .ctx = x };
	size_t n_ran = x->v[0]->source.rans ? sizeof(ran_columns) / sizeof(*ran_columns) : 0;
	struct table_column *c = make_account_cell_columns(d, x, x->n_names + n_ran, &t.n_columns);

	for (size_t i = 0; i < x->n_names; i++)
		c[t.n_columns++] = (struct table_column)COLUMN(
			x->name[i], x->name[i], T_AMOUNT, C_ERROR, "cycles, or the node's unit",
			.get = account_cell_amount, .which = i);
	memcpy(c + t.n_columns, ran_columns, n_ran * sizeof(*c));
	t.n_columns += n_ran;
	t.column = c;
	document_table(d, &t);
}

void account_put_cells(struct document *d, const struct account_result *x)
{
	struct table t = { .form = &account_cells_form, .ctx = x };
	size_t more = sizeof(cell_columns) / sizeof(*cell_columns);
	struct table_column *c = make_account_cell_columns(d, x, more, &t.n_columns);

	memcpy(c + t.n_columns, cell_columns, sizeof(cell_columns));
	t.n_columns += more;
	t.column = c;
	document_table(d, &t);
}
