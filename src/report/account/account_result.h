/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_result - shared by the tables of an account: account_tables.c has the document,
 * account_nodes.c accounts and nodes, account_rows.c rows and their cells.
 *
 * A table's ctx is the struct account_result; walks count views in at[0].
 */
#ifndef CYCLADE_REPORT_ACCOUNT_RESULT_H
#define CYCLADE_REPORT_ACCOUNT_RESULT_H

#include "report/account/account_int.h"

struct account_result {
	struct account_view *const *v;
	size_t n;
	const char **name; /* nodes of all accounts, each name once */
	size_t n_names;
	uint32_t *node; /* by view and name; MODEL_NONE */
};

static inline const struct account_result *result_of(const struct table *t)
{
	return t->ctx;
}

static inline struct account_view *result_view_of(const struct table *t, const struct table_row *r)
{
	return result_of(t)->v[r->at[0]];
}

static inline const struct account *result_acc_of(const struct table *t, const struct table_row *r)
{
	return result_view_of(t, r)->source.bound->acc;
}

static inline void put_result_text(struct table_cell *out, const char *text)
{
	out->text = text && *text ? text : NULL;
}

static inline void put_result_value(struct table_cell *out, const struct account_cell *x)
{
	out->e = (struct estimate){ x->v, x->half, x->why ? account_why_text(x->why) : NULL };
}

/* account_nodes.c */
void account_pmu(const struct table *t, const struct table_column *c, const struct table_row *r,
		 struct table_cell *out);
extern const struct table_form account_accounts_form, account_nodes_form;

/* account_rows.c */
extern const struct table_form account_rows_form, account_cells_form;
void account_put_rows(struct document *d, const struct account_result *x);
void account_put_cells(struct document *d, const struct account_result *x);

#define PMU                                                                           \
	COLUMN("pmu", "cores", T_TEXT, C_KEY | C_SPARSE, "kind of cores of a hybrid", \
	       .get = account_pmu)

#endif
