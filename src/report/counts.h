/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - counted events as a document; with -I one for each interval and one for the end.
 */
#ifndef CYCLADE_REPORT_COUNTS_H
#define CYCLADE_REPORT_COUNTS_H

#include "measure/counts_row.h"
#include "report/count_head.h"

struct counts {
	struct count_head head;
	const struct counts_row *row;
	size_t n;
};

extern const struct document_form counts_document;

/* Sets head.lost. The counts must outlive the document. */
void counts_put(struct document *d, struct counts *c);

#endif
