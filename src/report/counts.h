/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - counted events as a document; with -I one for each interval and one for the end.
 */
#ifndef CYCLADE_REPORT_COUNTS_H
#define CYCLADE_REPORT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "measure/counts_row.h"
#include "report/count_head.h"
#include "show/style.h"

struct counts {
	struct count_head head;
	const struct counts_row *row;
	size_t n;
};

struct counts_style {
	struct style style;
	char separator;
	bool quiet, verbose;
	bool first; /* of several: headings are due */
	bool rows;  /* of trees: a row for each interval, where that fits */
};

extern const struct document_form counts_document;

/* Sets head.lost. The counts must outlive the document. */
void counts_put(struct document *d, struct counts *c);

/* ---- for results without a document ---------------------------------------------------------- */

/* The command, and "3.21 s wall, 3.18 s cpu, exit 0": two lines for people. */
void counts_put_head(struct buf *b, const struct count_head *c, const struct style *st);
/* What to believe of it, in lines as wide as the terminal. */
void counts_put_notes(struct buf *b, const struct count_head *c, const struct style *st);

#endif
