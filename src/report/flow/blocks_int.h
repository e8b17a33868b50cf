/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_int - shared by the tables of blocks. Their ctx is the view. Those of blocks, edges and
 * loops have an array of struct blocks_row that blocks_next() walks: a row's p is the block, edge
 * or loop itself, at[0] its place in the array, at[1] the class of its distribution.
 */
#ifndef CYCLADE_REPORT_FLOW_BLOCKS_INT_H
#define CYCLADE_REPORT_FLOW_BLOCKS_INT_H

#include "report/blocks_view.h"
#include "report/recorded.h"

static inline const struct blocks_view *blocks_view_of(const struct table *t)
{
	return t->ctx;
}

static inline const struct blocks_row *blocks_row_of(const struct table *t,
						     const struct table_row *r)
{
	return (const struct blocks_row *)t->array + r->at[0];
}

static inline const struct block *block_of(const struct table_row *r)
{
	return r->p;
}

static inline const struct block_loop *loop_of(const struct table_row *r)
{
	return r->p;
}

bool blocks_next(const struct table *t, struct table_row *r);
/* If a block mostly runs together with others, the few times alone are not its times. */
bool blocks_is_alone(const struct block *k);

/* ---- columns --------------------------------------------------------------------------------- */

#define BLOCKS_GET(name)                                                                          \
	void name(const struct table *t, const struct table_column *c, const struct table_row *r, \
		  struct table_cell *out)

table_get blocks_get_dso, blocks_get_function, blocks_get_number;
/* For people: "function+0x1a" of a block, or of a loop's head. */
table_get blocks_get_name;
/* Times of a block alone (.which: a member of struct flow_shape); the same for people. */
table_get blocks_get_figure, blocks_get_modes, blocks_get_quantile, blocks_get_mark;
/* For people: "14 (13 to 14)"; "4 (62 %), 8 (23 %), tail 31 %". */
table_get blocks_get_bounds, blocks_get_shape;

/* clang-format off */
#define BLOCKS_FUNCTION \
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the function's file", .get = blocks_get_dso), \
	COLUMN("function", "function", T_TEXT, C_KEY | C_DATA, "its name", \
	       .get = blocks_get_function)
#define BLOCKS_NUMBER(key) \
	COLUMN(key, key, T_ID, C_KEY | C_DATA, "its number in the function", \
	       .get = blocks_get_number)
#define BLOCKS_NAME(head) \
	COLUMN("name", head, T_TEXT, C_PEOPLE | C_FLEX, "", .get = blocks_get_name)
#define BLOCKS_FIGURE(key, kind, means, member) \
	COLUMN(key, key, kind, C_DATA, means, .get = blocks_get_figure, \
	       .which = offsetof(struct flow_shape, member))
#define BLOCKS_SHAPE \
	BLOCKS_FIGURE("p50", T_REAL, "cycles that half of the times do not exceed", p50.v), \
	BLOCKS_FIGURE("p50_low", T_REAL, "bound (95 %)", p50.low), \
	BLOCKS_FIGURE("p50_high", T_REAL, "bound (95 %); none: too few stacks", p50.high), \
	BLOCKS_FIGURE("p95", T_REAL, "cycles that 95 % of the times do not exceed", p95.v), \
	BLOCKS_FIGURE("p95_low", T_REAL, "bound (95 %)", p95.low), \
	BLOCKS_FIGURE("p95_high", T_REAL, "bound (95 %); none: too few stacks", p95.high), \
	BLOCKS_FIGURE("tail", T_SHARE, "of the cycles, in the slowest 5 %", tail), \
	COLUMN("modes", "modes", T_COUNT, C_DATA, "peaks of the distribution", \
	       .get = blocks_get_modes)
#define BLOCKS_QUANTILES(get_) \
	COLUMN("half", "p50", T_REAL, C_PEOPLE | C_SPARSE, "", .get = get_, \
	       .which = offsetof(struct flow_shape, p50)), \
	COLUMN("most", "p95", T_REAL, C_PEOPLE | C_SPARSE, "", .get = get_, \
	       .which = offsetof(struct flow_shape, p95))
/* clang-format on */

/* ---- tables ---------------------------------------------------------------------------------- */

extern const struct table_form blocks_functions_form, blocks_dropped_form, blocks_blocks_form,
	blocks_edges_form, blocks_loops_form, blocks_listing_form, blocks_alone_form,
	blocks_iterations_form, blocks_trips_form, blocks_times_form, blocks_modes_form,
	blocks_rounds_form, blocks_rounds_times_form, blocks_intervals_form, blocks_visits_form;

void blocks_put_intervals(struct document *d, const struct blocks_view *v);

/* ---- shared by all documents of blocks; their ctx is the view -------------------------------- */

extern const struct table_form blocks_summary_form;

/* Head of the recording, its event, and the table "summary". */
void blocks_put_head(struct document *d, const struct blocks_view *v);
/* If figures are weights and no executions, people get a line about that above columns of runs. */
void blocks_put_table(struct document *d, const struct blocks_view *v, struct table t);
/* The table "dropped"; facts: spans not used, the scale, inflow and outflow. */
void blocks_put_facts(struct document *d, const struct blocks_view *v);

#endif
