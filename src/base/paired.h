/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paired - by how much B differs from A, from pairs of measurements that were taken one after the
 * other in random order.
 *
 * A pair gives one difference, of logarithms if a factor is looked for. The effect is the estimate
 * of Hodges and Lehmann: the median of the means of all two differences. Its interval is that of
 * Wilcoxon's signed-rank test: it excludes 0 exactly if the test finds a difference.
 *
 * Assumed: the order within a pair was drawn by lot. Without an effect each difference is then as
 * likely to have one sign as the other, so that a drift, steps and bursts of the machine make the
 * interval wider and not wrong. Not assumed: a normal distribution, or equal spread of all pairs.
 *
 * Cost: n * (n + 1) / 2 doubles.
 */
#ifndef CYCLADE_BASE_PAIRED_H
#define CYCLADE_BASE_PAIRED_H

#include <stddef.h>

#include "base/err.h"

#define PAIRED_LEAST \
	6u		/* pairs for an interval of 95 %: one sign for all of fewer is chance in
			   more than 1 of 20 cases */
#define PAIRED_GOOD 20u /* the fewest that are recommended: bursts hit some of them */
#define PAIRED_MOST 2000u

struct paired {
	size_t n;
	double effect;	  /* NAN: no pairs */
	double low, high; /* the 95 % interval; NAN: fewer than PAIRED_LEAST */
	double chance;	  /* of a difference like this one if there is none, two-sided; NAN: no
			     pairs. Below 0.05 exactly if the interval excludes 0 */
};

/* n is PAIRED_MOST at most. */
int paired_effect(struct paired *out, const double *difference, size_t n, struct err *err) MUST_USE;
/* Two series, the second one if the first has a chance below `go`; an effect is found if both
 * together have one below `level`. How far it must be from 0 to be found in 9 of 10 cases, in
 * standard errors of a series. */
double paired_needs(double go, double level);
/* The effect that is as far as `needs`, with series of so many pairs. NAN: not known. */
double paired_found(const struct paired *p, double needs);
/* Pairs of a series in which `effect` is as far. 0: not known. */
size_t paired_wanted(const struct paired *p, double effect, double needs);

#endif
