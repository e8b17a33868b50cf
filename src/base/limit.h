/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - "time > +2%", "function:parse < -5%": a change that a user does not want, of a figure by
 * its name.
 *
 * A limit is broken only by a change that goes beyond it and that is more than chance (`sure`):
 * the verdict on the figure, which its caller has, is the only judge of that.
 */
#ifndef CYCLADE_BASE_LIMIT_H
#define CYCLADE_BASE_LIMIT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

#define LIMIT_FUNCTION "function:" /* how a name of a function begins */

struct limit {
	const char *text; /* as it was typed */
	const char *name; /* without blanks around it */
	bool above;	  /* > : the change is more than `at`, which is 0 or more; else < */
	double at;	  /* a part: 0.02 is 2 %; for < 0 or less */
};

/* NAME > [+]NUMBER% or NAME < -NUMBER%; blanks do not matter. The last > or < counts: functions of
 * C++ have some in their names. The texts are in `a`. ERR_USAGE: the hint has a caret below the
 * fault. */
int limit_parse(struct limit *out, struct arena *a, const char *text, struct err *err) MUST_USE;
bool limit_broken(const struct limit *l, double change, bool sure);

#endif
