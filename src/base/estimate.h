/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * estimate - a figure with the error bar that is shown with it.
 *
 * `half` is half the width of the 95 % interval, in the figure's own unit. An estimate without a
 * value, or with a value but without an error bar, has the reason in `why`. A figure that was not
 * measured is NAN, never 0.
 */
#ifndef CYCLADE_BASE_ESTIMATE_H
#define CYCLADE_BASE_ESTIMATE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct estimate {
	double v;    /* NAN: not known */
	double half; /* 0: exact; NAN: not known */
	const char *why;
};

#define ESTIMATE_NONE(why) ((struct estimate){ NAN, NAN, (why) })

/* 97.5 % point of the normal distribution. */
#define Z95 1.959963984540054
/* 97.5 % point of Student's distribution, to five digits; `freedom` is 1 or more. */
double t95(size_t freedom);
/* Half width at 95 %, in standard errors, of the mean or sum of n draws of something that is never
 * below 0 and may be skewed, as latencies are; `relative`: the standard error by the mean. Wider
 * than Student's: of lognormal draws (sigma 1, 1.5) Student's holds 85 and 73 % of 13, this 96 and
 * 92 %. Fewer than SKEWED_FEWEST give none (NAN). Values too rare for any draw are in no bar. */
#define SKEWED_FEWEST 13
double skewed95(uint64_t n, double relative);
/* From the sum of n draws and the sum of their squares: the variance of one (n: 2 or more), and the
 * mean with its error, by skewed95(); `none`: the reason if n is 0. */
double sums_variance(uint64_t n, double sum, double squares);
struct estimate sums_mean(uint64_t n, double sum, double squares, const char *none);
/* Wilson's 95 % interval (1927) of a share p that was found in n draws (more than 0, of any
 * weight): it stays in [0, 1], and is honest for shares near 0 and 1. */
void share_interval(double p, double n, double *low, double *high);

#endif
