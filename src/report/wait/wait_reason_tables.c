/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reasons of waits as tables, and how long the waits were.
 */
#include "report/wait/wait_int.h"

static bool reason_next(const struct table *t, struct table_row *r)
{
	const struct wait *w = wait_view_of(t)->w;

	r->at[0] += r->p != NULL;
	while (r->at[0] < WAIT_REASONS && !w->reason[r->at[0]].t.n)
		r->at[0]++;
	if (r->at[0] == WAIT_REASONS)
		return false;
	r->p = &w->reason[r->at[0]];
	return true;
}

TABLE_CELL(wait_reason_row_reason, out->text = wait_reasons[r->at[0]].name)
TABLE_CELL(wait_reason_row_state, out->text = wait_state_name(wait_reasons[r->at[0]].state))
TABLE_CELL(row_means, out->text = wait_reasons[r->at[0]].means)
TABLE_CELL(row_quantile,
	   out->e.v = wait_seconds_of(*(const uint64_t *)(const void *)((const char *)r->p +
									c->which)))

#define QUANTILE(member) .get = row_quantile, .which = offsetof(struct wait_reason_sum, member)
static const struct table_column reason_columns[] = {
	WAIT_TIME(offsetof(struct wait_reason_sum, t)),
	COLUMN("p50_seconds", "p50", T_SECONDS, C_DROP, "half of them are no longer",
	       QUANTILE(p50)),
	COLUMN("p90_seconds", "p90", T_SECONDS, C_DATA, "90 % of them", QUANTILE(p90)),
	COLUMN("p99_seconds", "p99", T_SECONDS, 0, "99 % of them", QUANTILE(p99)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what threads did, or waited for",
	       .get = wait_reason_row_reason),
	COLUMN("state", "state", T_TEXT, C_DATA, "running, runnable, blocked, unknown",
	       .get = wait_reason_row_state),
	COLUMN("means", "", T_TEXT, C_FLEX | C_CUT, "what that is", .get = row_means),
};
const struct table_form wait_reasons_form = { "reasons", NULL, 0, TABLE_COLUMNS(reason_columns),
					      .next = reason_next };

/* at[1]: a bucket. */
static bool bucket_next(const struct table *t, struct table_row *r)
{
	const struct wait *w = wait_view_of(t)->w;

	for (r->at[1] += r->p != NULL; r->at[0] < WAIT_REASONS; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < 64; r->at[1]++) {
			r->p = &w->reason[r->at[0]].bucket[r->at[1]];
			if (*(const uint64_t *)r->p)
				return true;
		}
	return false;
}

TABLE_CELL(bucket_n, out->n = *(const uint64_t *)r->p)
TABLE_CELL(bucket_end, out->e.v = ldexp(1e-9, (int)(r->at[1] + c->which)))
static const struct table_column bucket_columns[] = {
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what threads did, or waited for",
	       .get = wait_reason_row_reason),
	COLUMN("from_seconds", "from", T_SECONDS, C_KEY, "as long, or longer", .get = bucket_end),
	COLUMN("until_seconds", "until", T_SECONDS, 0, "shorter", .get = bucket_end, .which = 1),
	COLUMN("waits", "times", T_COUNT, 0, "how often", .get = bucket_n),
};
const struct table_form wait_histogram_form = { "histogram", NULL, TABLE_DATA,
						TABLE_COLUMNS(bucket_columns),
						.next = bucket_next };
