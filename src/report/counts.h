/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - counted events as a document; with -I one for each interval and one for the end.
 */
#ifndef CYCLADE_REPORT_COUNTS_H
#define CYCLADE_REPORT_COUNTS_H

#include "base/vec.h"
#include "measure/counting.h"
#include "measure/counts_row.h"
#include "report/count_head.h"

/* A figure that the tool which counted printed itself. */
struct counts_printed {
	const char *where; /* NULL: all that was counted */
	const char *name, *unit, *event;
	double value, error; /* error: printed as +-; NAN */
	size_t pieces;	     /* intervals or places that it is the mean of */
	const char *node;    /* of the tree beside it, by its path; NULL: none */
};

struct counts {
	struct count_head head;
	const struct counts_row *row;
	size_t n;
	const struct counts_printed *printed;
	size_t n_printed;
};

extern const struct document_form counts_document;

/* The same two tables behind a tree: events that are not its, and printed figures. */
extern const struct table_form counts_beside_form, counts_printed_form, counts_shown_form;
/* Does nothing if there are none. `c` must outlive the document. */
void counts_beside_put(struct document *d, const struct counts *c);
/* Returns true if some of it is for people. */
bool counts_beside_shown(const struct counts *c, bool events);

/* The counts of each run, if there are several (-r). */
struct count_runs {
	VEC(struct count_run) run;
	VEC(struct count_repeat) repeat;
};
int count_runs_begin(struct count_runs *s, const struct counting_result *r,
		     struct err *err) MUST_USE;
/* Adds the run that began last. The texts must outlive it. */
int count_runs_add(struct count_runs *s, const struct count_repeat *x, struct err *err) MUST_USE;
void count_runs_put(const struct count_runs *s, struct count_head *h);
void count_runs_free(struct count_runs *s);

/* Sets head.lost. The counts must outlive the document. */
void counts_put(struct document *d, struct counts *c);

#endif
