/* SPDX-License-Identifier: BSD-3-Clause */
/* The error of a figure, from its groups; and the buckets of cycles. */
#include <math.h>

#include "analyse/flow.h"
#include "base/estimate.h"

#define T_GROUPS t95(FLOW_GROUPS - 1)

#define FEW   (4u * FLOW_GROUPS) /* hits that are not yet a spread */
#define EXACT 16u		 /* cycles below it have a bucket each */

double flow_sum(const struct flow_weight *w)
{
	double sum = 0;

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sum += w->group[g];
	return sum;
}

#define NEWER FLOW_GROUPS
#define OLDER (FLOW_GROUPS + 1)

const char flow_late[] = "the event is not precise: its samples come late by an unknown number of "
			 "cycles; record with :pp";

/* The difference of the halves counts twice. */
static double widened(double half, double newer, double older)
{
	return hypot(half, 2 * (newer - older));
}

static bool leans(const double group[FLOW_SLOTS])
{
	return !(group[NEWER] <= 0 && group[OLDER] <= 0);
}

static bool is_late(const double group[FLOW_SLOTS])
{
	return isnan(group[NEWER]);
}

static struct flow_value no_error(double v)
{
	return (struct flow_value){ v, NAN, true, flow_late };
}

struct flow_value flow_total(const double group[FLOW_SLOTS])
{
	double sum = 0, sq = 0, mean;

	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sum += group[g];
	if (is_late(group))
		return no_error(sum);
	mean = sum / FLOW_GROUPS;
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sq += (group[g] - mean) * (group[g] - mean);
	/* the variance of a sum of as many as there are groups */
	sq = T_GROUPS * sqrt(sq * FLOW_GROUPS / (FLOW_GROUPS - 1));
	return (struct flow_value){ sum, widened(sq, group[NEWER], group[OLDER]), leans(group),
				    NULL };
}

struct flow_value flow_total_of(const double group[FLOW_SLOTS], uint64_t hits, double each)
{
	struct flow_value v = flow_total(group);

	if (hits && hits < FEW && !isnan(v.half))
		v.half = fmax(v.half, T_GROUPS * each * sqrt((double)hits));
	return v;
}

struct flow_value flow_ratio(const double num[FLOW_SLOTS], const double den[FLOW_SLOTS])
{
	double n = 0, d = 0, mean = 0, sq = 0, left[FLOW_GROUPS];

	for (unsigned g = 0; g < FLOW_GROUPS; g++) {
		n += num[g];
		d += den[g];
	}
	if (!(d > 0))
		return FLOW_UNKNOWN;
	for (unsigned g = 0; g < FLOW_GROUPS; g++) {
		/* all of it in one group: the spread of the others is not known. Sums of doubles
		 * leave a little over. */
		if (!(d - den[g] > d * 1e-12))
			return (struct flow_value){ n / d, NAN, false, NULL };
		left[g] = (n - num[g]) / (d - den[g]);
		mean += left[g] / FLOW_GROUPS;
	}
	if (is_late(den))
		return no_error(n / d);
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		sq += (left[g] - mean) * (left[g] - mean);
	sq = T_GROUPS * sqrt(sq * (FLOW_GROUPS - 1) / FLOW_GROUPS);
	if (leans(den)) /* one that is 0 makes it infinite: not known */
		sq = widened(sq, num[NEWER] / den[NEWER], num[OLDER] / den[OLDER]);
	return (struct flow_value){ n / d, isfinite(sq) ? sq : NAN, leans(den), NULL };
}

struct flow_value flow_ratio_of(const double num[FLOW_SLOTS], const double den[FLOW_SLOTS],
				uint64_t hits)
{
	struct flow_value v = flow_ratio(num, den);

	if (hits < 2 || (isnan(v.half) && !v.why))
		return FLOW_UNKNOWN;
	if (hits < FEW && !v.why)
		v.half = fmax(v.half, T_GROUPS * fabs(v.v) / sqrt((double)hits));
	return v;
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
