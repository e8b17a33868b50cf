/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_int - what the formats of account_view share.
 */
#ifndef CYCLADE_REPORT_ACCOUNT_INT_H
#define CYCLADE_REPORT_ACCOUNT_INT_H

#include "base/buf.h"
#include "report/account_view.h"

#define CELL_DASH "-"

/* Cells of a row, in v->cell; those of all of it are bound->whole. */
const struct account_cell *account_view_cells(struct account_view *v, const struct account_row *r);
/* A cell as people read it, in the unit asked for, with its marks; `cycles`: of the row. */
void account_put_cell(struct buf *b, const struct account_view *v, uint32_t node,
		      const struct account_cell *c, double cycles);
/* The nodes that have a value and are large enough to be looked at, or all of them. */
bool account_shows(const struct account_view *v, uint32_t node);
/* The value of a row's key, as the recording has it; nothing of a fold. */
void account_put_key(struct buf *b, const struct account_view *v, const struct account_row *r,
		     size_t key);
/* What branch records tell of a row; NULL: it is no function, or nothing is known. */
const struct account_ran *account_view_ran(const struct account_view *v,
					   const struct account_row *r);
/* Its columns, ACCOUNT_RAN_COLUMNS of them: as people read them, "-" where it is not known. */
enum { ACCOUNT_RAN_INSNS, ACCOUNT_RAN_CALLERS, ACCOUNT_RAN_CALLEES, ACCOUNT_RAN_COLUMNS };
void account_put_ran(struct buf *b, const struct account_ran *x, unsigned column);
/* One more row. */
int account_view_push(struct account_view *v, const struct account_row *r,
		      struct err *err) MUST_USE;
/* Rows as a tree by the profile's keys (account_nest.c): those `kept` (by row); with fewer than
 * `least` cycles they are summed. */
int account_view_nest(struct account_view *v, size_t cycles, double least, const bool *kept,
		      struct err *err) MUST_USE;
const char *account_cover_text(enum account_cover cover);
const char *account_part_text(enum account_part part);
/* "MEM_LOAD_RETIRED.L2_HIT", or "" */
const char *account_event_name(const struct account_view *v, uint32_t event);
/* Sentences on what the numbers rest on; returns how many. Of several kinds of cores the last one's
 * have those of the recording. */
size_t account_view_facts(const struct account_view *v, struct arena *a, const char **label,
			  const char **text, size_t most);
size_t account_next(const struct account_view *v, struct next out[NEXT_MAX], struct arena *a);

/* The one with the most cycles. */
const struct account_view *account_view_most(struct account_view *const *v, size_t n);

void account_term(struct buf *b, struct account_view *const *v, size_t n, const struct style *st);
int account_csv(struct buf *b, struct account_view *const *v, size_t n, struct err *err) MUST_USE;
void account_json(struct buf *b, struct account_view *const *v, size_t n);
void account_markdown(struct buf *b, struct account_view *const *v, size_t n);

#endif
