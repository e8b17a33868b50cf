/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting_repeat.h"

#include <math.h>

void repeat_add(struct repeat *r, double v)
{
	double d = v - r->mean;

	if (isnan(v))
		return;
	r->n++;
	r->mean += d / (double)r->n;
	r->m2 += d * (v - r->mean);
}

double repeat_mean(const struct repeat *r)
{
	return r->n ? r->mean : NAN;
}

double repeat_stddev(const struct repeat *r)
{
	return r->n > 1 ? sqrt(r->m2 / (double)(r->n - 1)) : NAN;
}

/* 97.5 % of Student's distribution, by degrees of freedom from 1. */
static double student(size_t freedom)
{
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
				    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
				    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
				    2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
	const size_t n = sizeof(t) / sizeof(*t);

	if (freedom <= n)
		return t[freedom - 1];
	/* between 30 and infinity it goes almost as 1 / freedom */
	return 1.960 + (t[n - 1] - 1.960) * (double)n / (double)freedom;
}

double repeat_error(const struct repeat *r)
{
	return r->n > 1 ? student(r->n - 1) * repeat_stddev(r) / sqrt((double)r->n) : NAN;
}
