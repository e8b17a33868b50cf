/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_int - the inside of a finished flow: filled by flow.c, and by tests.
 */
#ifndef CYCLADE_ANALYSE_FLOW_FLOW_INT_H
#define CYCLADE_ANALYSE_FLOW_FLOW_INT_H

#include "analyse/flow.h"

struct flow {
	struct flow_edge *edge; /* sorted by (from, to) */
	struct flow_span *span; /* sorted by (image, start, end, kind) */
	struct flow_span *stop; /* likewise */
	uint32_t *into;		/* edges by (to, from) */
	struct flow_times *times;
	size_t n_edges, n_spans, n_stops, n_times;
	struct flow_sums sums;
	const struct pd_info *info; /* the recording's */
	struct flow_making *making; /* until flow_end() */
};

/* Sorts edges and spans and fills `into`; the flow's arrays are of malloc. */
int flow_sort(struct flow *f, struct err *err) MUST_USE;

#endif
