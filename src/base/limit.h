/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - "time > +2%": a change that a user does not want, of a figure by its name.
 *
 * A limit is broken only by a change that goes beyond it and beyond its own error: of noise
 * around 0, or of an interval that holds 0, no limit is broken.
 */
#ifndef CYCLADE_BASE_LIMIT_H
#define CYCLADE_BASE_LIMIT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

struct limit {
	const char *text; /* as it was typed */
	const char *name;
	bool above; /* > : the change is more than `at`, which is 0 or more; else < , 0 or less */
	double at;  /* a part: 0.02 is 2 % */
};

/* NAME > [+]NUMBER% or NAME < -NUMBER%; blanks do not matter. The texts are in `a`. */
int limit_parse(struct limit *out, struct arena *a, const char *text, struct err *err) MUST_USE;
/* By a change, whose 95 % interval excludes 0 (`sure`) or does not. */
bool limit_broken(const struct limit *l, double change, bool sure);

#endif
