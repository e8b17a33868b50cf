/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where - the short table of `run`: the functions that took most, with shares and error bars.
 *
 *	where_make(&w, arena, profile, event, limit, &err)
 *	where_put(&buf, &w, style)			for people; run.h has it for programs
 *
 * Of several recordings of a program, whose shares have error bars from the spread of the runs:
 *
 *	where_runs_open(&r, arena, n)
 *	where_runs_add(&r, &w, &err)			each recording's, with all rows
 *	where_runs_make(&all, &r, limit)		where_put() takes it
 *	where_runs_free(&r)
 */
#ifndef CYCLADE_REPORT_WHERE_H
#define CYCLADE_REPORT_WHERE_H

#include "analyse/error_bar.h"
#include "analyse/profile.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "show/style.h"

struct where_row { /* a function: all code of its name and file */
	const char *sym, *dso;
	const char *srcline; /* the line most of it fell on; NULL: not known */
	struct tally w;
	struct error_bar share;
	bool named;    /* it has a symbol of its own */
	size_t folded; /* so many functions, and no names */
};

struct where {
	const struct profile_sum *sum;
	const struct where_row *row;
	size_t n;
	const char *top; /* the hottest function that has a name of its own, plain; "": none */
};

/* A profile built with KEY_SYM and KEY_DSO (and KEY_SRCLINE for places), which stays. At most
 * `limit` rows (0: all), the rest folded into one; the table closes at 100 %. */
int where_make(struct where *out, struct arena *a, const struct profile *p, size_t event,
	       size_t limit, struct err *err) MUST_USE;
void where_put(struct buf *out, const struct where *w, const struct style *st);

struct where_spot { /* a function in all runs */
	struct where_row row;
	uint64_t line_period; /* of the run that row.srcline is from */
	double *period;	      /* by run */
	uint64_t *samples;    /* likewise */
};

struct where_runs {
	struct arena *a;
	size_t most, n;	    /* runs there may be, that were added */
	struct strtab keys; /* of file and name; spot i has the id i + 1 */
	VEC(struct where_spot) spot;
	double *whole; /* by run: the event's period */
	struct profile_sum sum;
};

/* For at most `most` runs; texts are copied into the arena. */
void where_runs_open(struct where_runs *r, struct arena *a, size_t most);
int where_runs_add(struct where_runs *r, const struct where *w, struct err *err) MUST_USE;
/* Shares are of the sum of all runs; their errors are never smaller than those of sampling. */
void where_runs_make(struct where *out, struct where_runs *r, size_t limit);
void where_runs_free(struct where_runs *r);

#endif
