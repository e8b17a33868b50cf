/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_repeat - the same numbers of several runs: mean, deviation, error bar.
 */
#ifndef CYCLADE_MEASURE_COUNTING_REPEAT_H
#define CYCLADE_MEASURE_COUNTING_REPEAT_H

#include <stddef.h>

struct repeat { /* Welford's running sums; begins as all zero */
	size_t n;
	double mean, m2;
};

void repeat_add(struct repeat *r, double v);  /* NAN: skipped */
double repeat_mean(const struct repeat *r);   /* NAN without values */
double repeat_stddev(const struct repeat *r); /* of the sample; NAN below two values */
/* Half width of the mean's 95 % by Student's t. */
double repeat_error(const struct repeat *r);
/* The same, if the values have errors of their own: `own` has the squares of their half widths, as
 * far as these are independent from run to run. A few runs may be alike by chance, so that the mean
 * is never surer than the values are. */
double repeat_error_with(const struct repeat *r, const struct repeat *own);

#endif
