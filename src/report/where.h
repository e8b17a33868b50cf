/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where - the short table of `run`: the functions that took most, with shares and error bars.
 *
 *	where_make(&w, arena, profile, event, limit, &err)
 *	where_put(&buf, &w, style)			for people; run_report.h has it for programs
 */
#ifndef CYCLADE_REPORT_WHERE_H
#define CYCLADE_REPORT_WHERE_H

#include "analyse/error_bar.h"
#include "analyse/profile.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "show/style.h"

struct where_row { /* a function: what shares its name and file */
	const char *sym, *dso;
	const char *srcline; /* the line most of it fell on; NULL: not known */
	struct tally w;
	struct error_bar share;
	size_t folded; /* so many functions, and no names */
};

struct where {
	const struct profile_sum *sum;
	const struct where_row *row;
	size_t n;
	const char *top; /* the hottest function that has a name of its own, plain; "": none */
};

/* A profile built with KEY_SYM and KEY_DSO (and KEY_SRCLINE for places), which stays. At most
 * `limit` rows (0: all), what is left folded into one; the table closes at 100 %. */
int where_make(struct where *out, struct arena *a, const struct profile *p, size_t event,
	       size_t limit, struct err *err) MUST_USE;
void where_put(struct buf *out, const struct where *w, const struct style *st);

#endif
