/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing_int - sharing.c collects lines and accesses, sharing_judge.c makes the verdicts,
 * sharing_objects.c finds the variables.
 */
#ifndef CYCLADE_ANALYSE_SHARING_SHARING_INT_H
#define CYCLADE_ANALYSE_SHARING_SHARING_INT_H

#include "analyse/sharing.h"

enum { WEIGHTED_PERIOD, WEIGHTED_PERIOD2, WEIGHTED_MIXED }; /* p, p*p, p*p*latency */

/* Fills verdict, why, threads, readers, writers of a line. `stores`: the recording has some. */
void sharing_judge(struct sharing_line *l, const struct sharing_access *a, bool stores);
/* At stake, and its share of `all` (sums as a line's weight and weight2). */
void sharing_weigh(struct sharing_line *l, const struct sharing *s, double all, double all2);

/* Fills sharing.object; lines and accesses are final. */
int sharing_objects(struct sharing *s, struct err *err) MUST_USE;

#endif
