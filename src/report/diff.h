/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff - two or more results compared: the tables of their documents joined by their keys.
 *
 *	diff_build(&x, side, n_sides, &opts, &err)	side[0] is the base of all others
 *	diff_gate(&g, x, "cycles > +2%", &err)		a limit: before diff_put(), which shows it
 *	document_open(&d, &diff_document, x)
 *	diff_put(&d, x)
 *	diff_free(x)
 *
 * A side is one recording, or several of the same work (repeats). Nothing is analysed here: values,
 * samples and errors are read from the tables "events", "rows", "tree" and "recording" of documents
 * that others made, which must outlive the diff.
 *
 * Functions are joined by dso and name. Those of one side alone are looked for on the other side by
 * what their code is like (diff_match.c): renamed ones are joined, of inlined and split ones the
 * sums of the parts. A likeness that leaves a doubt is shown and joins nothing.
 *
 * Error bars are half of the 95 % interval. With repeats they come from the spread of a side's
 * recordings (Welch's t), and are never below what sampling alone gives. With one recording they
 * come from sampling alone (counts: Poisson). A verdict other than "noise" is corrected for the
 * number of comparisons (Holm): where nothing changed, one diff in two hundred at most reports
 * something.
 */
#ifndef CYCLADE_REPORT_DIFF_H
#define CYCLADE_REPORT_DIFF_H

#include "base/vec.h"
#include "show/document.h"

struct images;

enum { DIFF_LEVEL_PER_MILLE = 5 }; /* diffs without a change that report one */

struct diff_run {
	const char *input; /* the recording as the user named it */
	const struct document *const *doc;
	size_t n_docs;
	struct images *images; /* its code, for functions that another build renamed; NULL: none */
};

typedef VEC(struct diff_run) diff_run_list;

struct diff_side {
	const char *name;
	const struct diff_run *run;
	size_t n;
};

struct diff_opts {
	/* What values are divided by: "run" (NULL: nothing), "time", "samples", an event. */
	const char *per;
	size_t limit; /* rows for people; 0: as many as say something */
	size_t gates; /* limits that diff_gate() will be asked for; 0: 1 */
};

struct diff;

extern const struct document_form diff_document;

int diff_build(struct diff **out, const struct diff_side *side, size_t n_sides,
	       const struct diff_opts *opts, struct err *err) MUST_USE;
/* A limit: [function:]NAME >|< [+-]NUMBER%. *exceeded is set if a change is beyond the limit and
 * its error, and more than chance: it was named before, so its chance is corrected for the number
 * of limits alone. ERR_USAGE, with a caret, if it cannot be read; ERR_NOT_FOUND if the results have
 * no such value. `x` NULL: it is read only. */
int diff_gate(bool *exceeded, struct diff *x, const char *expr, struct err *err) MUST_USE;
void diff_put(struct document *d, const struct diff *x);
void diff_free(struct diff *x);

#endif
