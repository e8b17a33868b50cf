/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures that several tables of waits have: of a struct wait_time, and its reason.
 */
#include "report/wait/wait_int.h"

/* clang-format off */
/* As TABLE_CELL, for other files. */
#define WAIT_CELL(name, ...) \
	void name(const struct table *t, const struct table_column *c, const struct table_row *r, \
		  struct table_cell *out) \
	{ (void)t; (void)c; (void)r; __VA_ARGS__; }
/* clang-format on */

uint64_t wait_all_time(const struct wait_view *v, enum wait_state s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->n_processes; i++)
		for (size_t k = 0; k < WAIT_STATES; k++)
			sum += s == WAIT_STATES || s == k ? v->process[i].time[k] : 0;
	return sum;
}

static const struct wait_time *wait_cell_time_of(const struct table_column *c,
						 const struct table_row *r)
{
	return (const struct wait_time *)((const char *)r->p + c->which);
}

WAIT_CELL(wait_cell_time_seconds,
	  out->e = (struct estimate){ wait_seconds_of(wait_cell_time_of(c, r)->time), 0, NULL })

void wait_cell_time_bar(const struct table *t, const struct table_column *c,
			const struct table_row *r, struct table_cell *out)
{
	const struct wait_time *x = wait_cell_time_of(c, r);

	(void)t;
	out->none = x->bar <= 0; /* exact */
	out->says = "";
	out->e = (struct estimate){ x->bar / 1e9, 0, NULL };
}

WAIT_CELL(wait_cell_time_share,
	  out->e.v = wait_share_of(wait_cell_time_of(c, r)->time,
				   wait_all_time(wait_view_of(t), WAIT_STATES)))
WAIT_CELL(wait_cell_time_n, out->n = wait_cell_time_of(c, r)->n)
WAIT_CELL(wait_cell_time_mean,
	  out->e.v = wait_share_of(wait_cell_time_of(c, r)->time, wait_cell_time_of(c, r)->n) / 1e9)
WAIT_CELL(wait_cell_time_most, out->e.v = wait_seconds_of(wait_cell_time_of(c, r)->most))

/* The reason is a byte at c->which. */
static enum wait_reason wait_cell_reason_of(const struct table_column *c, const struct table_row *r)
{
	return *((const uint8_t *)r->p + c->which);
}

WAIT_CELL(wait_cell_reason, out->text = wait_reasons[wait_cell_reason_of(c, r)].name)
