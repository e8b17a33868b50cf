/* SPDX-License-Identifier: BSD-3-Clause */
/* What a figure and its groups say of its error; and the buckets of cycles. */
#include <math.h>

#include "analyse/flow.h"

/* Student's t of FLOW_GROUPS - 1 = 15 degrees of freedom, 97.5 %. */
#define T_15 2.1314495455597742
_Static_assert(FLOW_GROUPS == 16, "the quantile is that of 16 groups");

#define FEW   (4u * FLOW_GROUPS) /* hits that are not yet a spread */
#define EXACT 16u		 /* cycles below it have a bucket each */

double flow_sum(const struct flow_weight *w)
{
	double sum = 0;

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sum += w->group[g];
	return sum;
}

struct flow_value flow_total(const double group[FLOW_GROUPS])
{
	double sum = 0, sq = 0, mean;

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sum += group[g];
	mean = sum / FLOW_GROUPS;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sq += (group[g] - mean) * (group[g] - mean);
	/* the variance of a sum of as many as there are groups */
	return (struct flow_value){ sum, T_15 * sqrt(sq * FLOW_GROUPS / (FLOW_GROUPS - 1)) };
}

struct flow_value flow_total_of(const double group[FLOW_GROUPS], uint64_t hits, double each)
{
	struct flow_value v = flow_total(group);

	if (hits && hits < FEW)
		v.half = fmax(v.half, T_15 * each * sqrt((double)hits));
	return v;
}

struct flow_value flow_ratio(const double num[FLOW_GROUPS], const double den[FLOW_GROUPS])
{
	double n = 0, d = 0, mean = 0, sq = 0, left[FLOW_GROUPS];

	for (unsigned g = 0; g < FLOW_GROUPS; g++) {
		n += num[g];
		d += den[g];
	}
	if (!(d > 0))
		return (struct flow_value){ NAN, NAN };
	for (unsigned g = 0; g < FLOW_GROUPS; g++) {
		/* all of it in one group: what the others would say is not known. Sums of doubles
		 * leave a little over. */
		if (!(d - den[g] > d * 1e-12))
			return (struct flow_value){ n / d, NAN };
		left[g] = (n - num[g]) / (d - den[g]);
		mean += left[g] / FLOW_GROUPS;
	}
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sq += (left[g] - mean) * (left[g] - mean);
	return (struct flow_value){ n / d, T_15 * sqrt(sq * (FLOW_GROUPS - 1) / FLOW_GROUPS) };
}

unsigned flow_time_bucket(uint32_t cycles)
{
	unsigned octave;

	if (cycles < EXACT)
		return cycles;
	if (cycles > UINT16_MAX)
		cycles = UINT16_MAX;
	octave = 31 - (unsigned)__builtin_clz(cycles); /* 4 to 15 */
	return EXACT + (octave - 4) * 4 + (cycles >> (octave - 2) & 3);
}

uint32_t flow_time_from(unsigned bucket)
{
	unsigned octave = (bucket - EXACT) / 4 + 4;

	if (bucket < EXACT)
		return bucket;
	if (bucket >= FLOW_TIME_BUCKETS)
		return UINT16_MAX + 1u;
	return (4 + (bucket - EXACT) % 4) << (octave - 2);
}
