/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts - the notes below the rows of a profile: samples counted, not attributed, left out.
 */
#ifndef CYCLADE_REPORT_PROFILE_FACTS_H
#define CYCLADE_REPORT_PROFILE_FACTS_H

#include "base/buf.h"
#include "report/view.h"

/* "12,712 samples of cycles, 11.90 G, over 3.21 s": one table's event. */
void fact_title(struct buf *b, const struct view *v, const struct view_table *t, size_t event);
/* Writes the facts of one table's event, at most FACTS_MAX; returns how many. */
size_t facts_of_event(const struct view *v, const struct view_table *t, size_t event,
		      struct fact *out);
/* Unwound chains that end too early; 0 or 1. */
size_t facts_of_chains(const struct view *v, struct fact *out);
/* Samples whose chains the kernel or --max-stack cut off; false if the view has no chains. */
bool fact_cut(const struct view *v, const struct view_table *t, size_t event, struct tally *cut);
/* Returns the number of rows whose fields of PERF_METRICS contradict each other, so that they have
 * no tree; *trees: of rows with one. */
size_t facts_doubtful_trees(const struct view *v, const struct view_table *t, size_t *trees);

#endif
