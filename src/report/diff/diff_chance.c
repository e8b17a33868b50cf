/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "report/diff/diff_int.h"

/* The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun
 * 26.5.8). It converges within some sqrt(max(a, b)) steps for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return h;
}

/* I_x(a, b). */
static double beta(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double chance_counts(double a, double b, double p)
{
	/* P(X >= a) and P(X <= a) of a binomial distribution of a + b trials */
	double above = a > 0 ? beta(a, b + 1, p) : 1, below = b > 0 ? beta(b, a + 1, 1 - p) : 1;
	double chance = 2 * (above < below ? above : below);

	return chance < 1 ? chance : 1;
}

double chance_t(double t, double freedom)
{
	return isinf(t) ? 0 : beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}
