/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_view - an account of cycles as a document: rows of a profile by branches of the tree; all
 * of the recording as the tree itself; the events with the share of time they had a counter.
 *
 *	profile_build(&p, ...)				with opts.mux
 *	account_bind, account_whole			of the sums of all that is selected
 *	account_view_make(&v, &source, &opts, &err)
 *	account_put(&d, &v, 1)				a document of account_document
 *	account_view_free(v)				after the document is closed
 *
 * Of a hybrid there is a view for each kind of cores, with the rows that have samples of it.
 *
 * Cells are made when a row is written, so that memory does not grow with rows times nodes. A node
 * that was not measured is never 0: it is "-" for people, null with a reason for programs. A value
 * that its error bar does not distinguish from zero is marked ~ (and dim), a lower bound >, one
 * that disagrees with its twin ?, one larger than its parent ^.
 */
#ifndef CYCLADE_REPORT_ACCOUNT_VIEW_H
#define CYCLADE_REPORT_ACCOUNT_VIEW_H

#include "analyse/account.h"
#include "analyse/mux.h"
#include "report/account_ran.h"
#include "report/view.h"
#include "show/document.h"

enum account_unit { ACCOUNT_PCT, ACCOUNT_CYCLES, ACCOUNT_SAMPLES };

/* Everything that it points to must live as long as the view. */
struct account_source {
	const struct profile *profile;
	const struct account_bound *bound;
	const struct account_bound *const *all; /* of each kind of cores, this one among them */
	size_t n_all;
	const struct mux *mux;		 /* NULL: not asked */
	const struct account_rans *rans; /* of branch records; NULL: none */
	const struct view_source *view;
	const char *pmu; /* of a hybrid's kind of cores; else NULL */
	const char
		*models; /* "--models DIR", or "": options of commands that find its model again */
	const char *const *notes;
	size_t n_notes;
};

struct account_opts {
	const char *focus, *hide;
	const char *const *expand; /* nodes whose children are columns, too; "all": of all */
	size_t n_expand;
	double min; /* a share of all cycles: rows below are summed */
	size_t limit;
	enum account_unit unit;
	bool errors; /* +- in the cells */
	bool nested; /* for people: rows stand under the sums of their parents */
	bool all;    /* of the tree and the events, the small and the missing too */
};

struct account_row {
	const struct profile_row *row; /* NULL: a fold. Of a sum: the first of its rows */
	uint64_t folded;	       /* rows that it stands for */
	bool left_out, sum;
	unsigned depth;	     /* of nested rows: keys that it shares with those around it */
	uint64_t cycles;     /* period of the cycles' event */
	struct tally *tally; /* of a fold or sum, by event */
};

struct account_view {
	struct account_source source;
	struct account_opts opts;
	size_t n_events; /* of the recording */
	struct account_row *row;
	size_t n_rows, cap_rows;
	uint32_t *column; /* nodes, in the order of wish */
	uint8_t *indent;  /* by column: children of an opened one */
	size_t n_columns;
	const struct tally *whole; /* by event */
	/* scratch of the row at hand */
	struct tally *tally;
	struct account_cell *cell;
	const struct account_row *at; /* cell is of this row */
	struct arena arena;
};

int account_view_make(struct account_view **out, const struct account_source *source,
		      const struct account_opts *opts, struct err *err) MUST_USE;
/* All `n` of a recording, which must live as long as the document. */
extern const struct document_form account_document;
void account_put(struct document *d, struct account_view *const *v, size_t n);
void account_view_free(struct account_view *v); /* NULL is fine */

#endif
