/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_int - shared by the files of account_view.
 */
#ifndef CYCLADE_REPORT_ACCOUNT_INT_H
#define CYCLADE_REPORT_ACCOUNT_INT_H

#include "base/buf.h"
#include "report/account_view.h"

/* Returns the cells of a row, valid until those of another row of the view; all of it:
 * bound->whole. */
const struct account_cell *account_view_cells(struct account_view *v, const struct account_row *r);
/* Returns true for nodes that have a value and are large enough to be looked at, or for all of
 * them. */
bool account_shows(const struct account_view *v, uint32_t node);
/* Facts of branch records about a row; NULL: it is no function, or nothing is known. */
const struct account_ran *account_view_ran(const struct account_view *v,
					   const struct account_row *r);
/* One more row. */
void account_view_push(struct account_view *v, const struct account_row *r);
/* Rows as a tree by the profile's keys (account_nest.c): those `kept` (by row); with fewer than
 * `least` cycles they are summed. */
void account_view_nest(struct account_view *v, size_t cycles, double least, const bool *kept);
/* "MEM_LOAD_RETIRED.L2_HIT", or NULL */
const char *account_event_name(const struct account_view *v, uint32_t event);
/* Returns true for an event that the tree uses, though perhaps the recording has none of it. */
bool account_wants(const struct account_view *v, uint32_t event);

/* account_tables.c: the value of a row's key; none of a fold. */
void account_key(const struct account_view *v, const struct account_row *r, size_t key,
		 struct table_cell *out);
/* Returns a column of the key, with flags of its own. */
struct table_column account_key_column(const struct account_view *v, size_t key, unsigned flags,
				       table_get *get);

/* account_people.c: the rows by the branches that matter, then the tree of all of it. */
extern const struct table_form account_branches_form, account_tree_form;
void account_put_people(struct document *d, struct account_view *const *v);
/* A legend of the marks in these tables. */
void account_put_legend(struct document *d, struct account_view *const *v, size_t n);

/* account_basis.c: the basis of the figures, and the commands worth typing next. */
void account_put_facts(struct document *d, struct account_view *v);
void account_put_next(struct document *d, const struct account_view *v);

#endif
