/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/estimate.h"

#define SKEWED 5.0

/* Beyond the table: the expansion in powers of 1 / freedom of Abramowitz and Stegun, 26.7.5. It is
 * off by 2e-7 for 21 degrees of freedom, and by less for more. */
static double expansion(double n)
{
	const double z = Z95, z2 = z * z;

	return z + z * (z2 + 1) / (4 * n) + z * ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n) +
	       z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) /
		       (92160 * n * n * n * n);
}

double t95(size_t freedom)
{
	static const double t[] = { NAN,	  12.7062047362, 4.3026527297, 3.1824463053,
				    2.7764451052, 2.5705818356,	 2.4469118511, 2.3646242516,
				    2.3060041352, 2.2621571628,	 2.2281388520, 2.2009851601,
				    2.1788128297, 2.1603686565,	 2.1447866879, 2.1314495456,
				    2.1199052992, 2.1098155778,	 2.1009220402, 2.0930240544,
				    2.0859634473 };

	return freedom < sizeof(t) / sizeof(*t) ? t[freedom] : expansion((double)freedom);
}

double sums_variance(uint64_t n, double sum, double squares)
{
	double count = (double)n, mean = sum / count;

	return fmax(0, (squares - count * mean * mean) / (count - 1));
}

double skewed95(uint64_t n, double relative)
{
	if (n < SKEWED_FEWEST || isnan(relative))
		return NAN;
	return t95((size_t)n - 1) * (1 + SKEWED * relative);
}

struct estimate sums_mean(uint64_t n, double sum, double squares, const char *none)
{
	double mean = sum / (double)n, se;

	if (!n)
		return ESTIMATE_NONE(none);
	if (n < SKEWED_FEWEST)
		return (struct estimate){ mean, NAN, "too few samples" };
	se = sqrt(sums_variance(n, sum, squares) / (double)n);
	return (struct estimate){ mean, se > 0 ? skewed95(n, se / mean) * se : 0, NULL };
}

void share_interval(double p, double n, double *low, double *high)
{
	double scale = 1 + Z95 * Z95 / n, centre = (p + Z95 * Z95 / (2 * n)) / scale;
	double spread = Z95 * sqrt(p * (1 - p) / n + Z95 * Z95 / (4 * n * n)) / scale;

	/* at the ends centre and spread are equal except for rounding */
	*low = p > 0 && centre > spread ? centre - spread : 0;
	*high = p < 1 && centre + spread < 1 ? centre + spread : 1;
}
