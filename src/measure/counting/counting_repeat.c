/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/counting_repeat.h"

#include <math.h>

#include "base/estimate.h"
#include "base/invariant.h"

void repeat_add(struct repeat *r, double v)
{
	double d = v - r->mean;

	if (isnan(v))
		return;
	r->n++;
	r->mean += d / (double)r->n;
	r->m2 += d * (v - r->mean);
	assert(r->m2 >= 0);
}

double repeat_mean(const struct repeat *r)
{
	return r->n ? r->mean : NAN;
}

double repeat_stddev(const struct repeat *r)
{
	return r->n > 1 ? sqrt(r->m2 / (double)(r->n - 1)) : NAN;
}

double repeat_error(const struct repeat *r)
{
	return r->n > 1 ? t95(r->n - 1) * repeat_stddev(r) / sqrt((double)r->n) : NAN;
}

double repeat_error_with(const struct repeat *r, const struct repeat *own)
{
	double between = repeat_error(r), within = own->n ? sqrt(own->mean / (double)r->n) : 0;

	return between < within ? within : between;
}
