/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error_bar - how far a share may be off because it was sampled.
 *
 * Samples are taken as independent draws; each carries a weight (its period). With W the sum of all
 * weights, W2 the sum of their squares, the effective number of samples is n = W*W / W2 (Kish
 * 1965). The interval of a share is Wilson's for n draws (base/estimate.h). Half its width is
 * printed as "+-". If W2 is 0 and W is not, nothing was drawn: the share is exact (a model's sums).
 */
#ifndef CYCLADE_ANALYSE_ERROR_BAR_H
#define CYCLADE_ANALYSE_ERROR_BAR_H

#include "base/estimate.h"

struct error_bar {
	double share;	  /* w / W; NaN if W is 0 */
	double low, high; /* 95 % interval */
	double half;	  /* (high - low) / 2 */
};

struct error_bar error_bar_share(double w, double W, double W2);
/* n of so many that weigh the same; `none` is why there is no share if these are none. */
struct estimate error_bar_part(uint64_t n, uint64_t of, const char *none);

#endif
