/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diff - two or more results compared: the tables of their documents joined by their keys.
 *
 *	diff_build(&x, side, n_sides, &opts, &err)	side[0] is the base of all others
 *	document_open(&d, &diff_document, x)
 *	diff_put(&d, x)
 *	diff_exceeded(x)				whether a limit is
 *	diff_free(x)
 *
 * A side is one recording, or several of the same work (repeats). Nothing is analysed here: values,
 * samples and errors are read from the tables "events", "rows", "tree" and "recording" of documents
 * that others made, which must outlive the diff.
 *
 * Functions are joined by dso and name. Those of one side alone are looked for on the other side by
 * similar code (diff_match.c): renamed ones are joined, of inlined and split ones the sums of the
 * parts. A likeness that leaves a doubt is shown and joins nothing.
 *
 * Error bars are half of the 95 % interval of a row alone. With repeats they come from the spread
 * of a side's recordings (Welch's t), and are never below those of sampling alone. With one
 * recording they come from sampling alone (counts: Poisson).
 *
 * A verdict other than "noise" is corrected for the number of comparisons, and is the only judge of
 * a change: headline, rows and limits follow it. Figures form up to three families, chosen before
 * looking: those that limits name have half of the level, totals a quarter, all others the rest
 * (also of families that are empty, or all of which changed). Holm's procedure keeps each family's
 * share. If nothing changed, one diff in two hundred at most reports something. A row has a reason
 * if its bar and verdict differ.
 */
#ifndef CYCLADE_REPORT_DIFF_H
#define CYCLADE_REPORT_DIFF_H

#include "base/limit.h"
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
	/* The divisor of values: "run" (NULL: none), "time", "samples", an event. */
	const char *per;
	size_t limit; /* rows for people; 0: all that are significant */
	/* The named item may change up to its limit: [function:]NAME, a total, the path of a
	 * node. */
	const struct limit *gate;
	size_t n_gates;
	bool partial_ok; /* recordings that do not go to their end are judged all the same */
};

struct diff;

extern const struct document_form diff_document;

/* ERR_NOT_FOUND: a limit names an item that the results do not have. */
int diff_build(struct diff **out, const struct diff_side *side, size_t n_sides,
	       const struct diff_opts *opts, struct err *err) MUST_USE;
/* Returns true if there is no verdict: a recording does not go to its end. */
bool diff_partial(const struct diff *x);
/* Returns true if a limit is broken. */
bool diff_exceeded(const struct diff *x);
void diff_put(struct document *d, const struct diff *x);
/* Functions that changed and are still there, those that changed most first. Their texts are the
 * diff's; the caller frees *out. */
struct diff_changed {
	const char *dso, *function; /* on the new side */
	size_t side;
};
size_t diff_changed(const struct diff *x, struct diff_changed **out);
void diff_free(struct diff *x);

#endif
