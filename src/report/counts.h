/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - a table of counted events as text: for people, csv, json (and a line of it for each
 * interval), markdown.
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

/* `format` is one of term, csv, json, markdown. */
int counts_write(struct buf *out, const struct counts *c, const char *format,
		 const struct counts_style *st, struct err *err) MUST_USE;
/* The command, and "3.21 s wall, 3.18 s cpu, exit 0": two lines for people. */
void counts_put_head(struct buf *b, const struct count_head *c, const struct style *st);
/* What to believe of it, in lines as wide as the terminal. */
void counts_put_notes(struct buf *b, const struct count_head *c, const struct style *st);
/* The last line of JSON lines: how the program ended. Nothing in other formats. */
void counts_write_end(struct buf *out, const struct count_head *c, const char *format);

#endif
