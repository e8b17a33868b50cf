/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts - what every report for people says beside its rows: what was recorded, what could not be
 * attributed, what was lost, what was left out. Private to report.
 */
#ifndef CYCLADE_REPORT_FACTS_H
#define CYCLADE_REPORT_FACTS_H

#include "base/buf.h"
#include "report/view.h"

struct fact {
	char label[24];
	char text[256];
	bool bad; /* worth a colour */
};

#define FACTS_MAX 8

/* "12,712 samples of cycles, 11.90 G, over 3.21 s": one table's event. */
void fact_title(struct buf *b, const struct view *v, const struct view_table *t, size_t event);
/* The recorded command, safe for terminals; and where it ran. These and facts_of_recording() need a
 * view's source only. */
void fact_command(struct buf *b, const struct view *v, bool ascii);
void fact_machine(struct buf *b, const struct view *v, bool ascii);
/* Of one table's event; of the recording. At most FACTS_MAX each; returns how many. */
size_t facts_of_event(const struct view *v, const struct view_table *t, size_t event,
		      struct fact *out);
size_t facts_of_recording(const struct view *v, struct fact *out);
/* Chains that end too early; 0 or 1. */
size_t facts_of_chains(const struct view *v, struct fact *out);
/* Rows whose fields of PERF_METRICS say what cannot be, and so have no tree; of *trees with one. */
size_t facts_doubtful_trees(const struct view *v, const struct view_table *t, size_t *trees);

#endif
