/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts - what the report of a profile says to people beside its rows: what was sampled, what could
 * not be attributed, what was left out.
 */
#ifndef CYCLADE_REPORT_PROFILE_FACTS_H
#define CYCLADE_REPORT_PROFILE_FACTS_H

#include "base/buf.h"
#include "report/view.h"

/* "12,712 samples of cycles, 11.90 G, over 3.21 s": one table's event. */
void fact_title(struct buf *b, const struct view *v, const struct view_table *t, size_t event);
/* Of one table's event, at most FACTS_MAX; returns how many. */
size_t facts_of_event(const struct view *v, const struct view_table *t, size_t event,
		      struct fact *out);
/* Chains that end too early; 0 or 1. */
size_t facts_of_chains(const struct view *v, struct fact *out);
/* Rows whose fields of PERF_METRICS say what cannot be, and so have no tree; of *trees with one. */
size_t facts_doubtful_trees(const struct view *v, const struct view_table *t, size_t *trees);

#endif
