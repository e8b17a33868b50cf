/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts_rows - the formats of counts.h.
 */
#ifndef CYCLADE_REPORT_COUNTS_ROWS_H
#define CYCLADE_REPORT_COUNTS_ROWS_H

#include "base/json.h"
#include "report/counts.h"

/* How we and the program ended. */
void counts_json_status(struct json *j, const struct count_head *c);
void counts_json_end(struct json *j,
		     const struct count_head *c); /* and whether it was interrupted */
/* The head in paragraphs; the notes as a list. */
void counts_markdown_head(struct buf *b, const struct count_head *c);
void counts_markdown_notes(struct buf *b, const struct count_head *c);

#endif
