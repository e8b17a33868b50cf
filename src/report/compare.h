/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare - two programs compared, as a document: cyclade.compare/1.
 */
#ifndef CYCLADE_REPORT_COMPARE_H
#define CYCLADE_REPORT_COMPARE_H

#include "base/limit.h"
#include "base/words.h"
#include "measure/compare.h"
#include "show/document.h"

struct compare_limit {
	struct limit limit;
	const struct compare_metric *metric;
	bool broken; /* by a verdict beyond it */
};

struct compare_report {
	const struct compare *c;
	const struct compare_found *found;
	struct text_list command[COMPARE_SIDES];
	const struct compare_limit *limit;
	size_t n_limits;
	uint64_t warmup;
	bool sampled;	      /* metrics beside the times are functions */
	uint64_t not_counted; /* metrics without a figure; set by compare_put() */
};

extern const struct document_form compare_document;

/* Returns true if a limit is broken: by all pairs, and by each of two series. */
bool compare_breaks(const struct limit *l, const struct compare_metric *m);
/* The report must outlive the document. */
void compare_put(struct document *d, struct compare_report *r);

#endif
