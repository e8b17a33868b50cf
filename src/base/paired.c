/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/estimate.h"
#include "base/invariant.h"
#include "base/num.h"

#define EXACT 100u  /* pairs up to which ranks are counted out; beyond, their sum is normal */
#define TAIL  0.025 /* left out of the interval on either side */

static double rank_sd(size_t n)
{
	return sqrt((double)n * (double)(n + 1) * (double)(2 * n + 1) / 24);
}

/* The smallest w with P(W <= w) of TAIL or more. */
static size_t rank_quantile(size_t n, const double *way)
{
	double mean = (double)n * (double)(n + 1) / 4;
	size_t w = 0;

	if (n > EXACT)
		return (size_t)fmax(1, floor(mean - Z95 * rank_sd(n)));
	while (way[w] < TAIL)
		w++;
	return w;
}

/* P(W <= w); of many ranks so that it is TAIL where the quantile is. */
static double rank_chance(size_t n, const double *way, size_t w)
{
	double mean = (double)n * (double)(n + 1) / 4;

	return n > EXACT ? erfc((mean - (double)w - 1) / rank_sd(n) / sqrt(2)) / 2 : way[w];
}

int paired_effect(struct paired *out, const double *difference, size_t n, struct err *err)
{
	size_t m = n * (n + 1) / 2, k = 0, skip, above = 0, below = 0;
	double *mean, *way;

	*out = (struct paired){ .n = n, .effect = NAN, .low = NAN, .high = NAN, .chance = NAN };
	if (!n)
		return 0;
	assert(n <= PAIRED_MOST);
	mean = calloc(2 * m + 1, sizeof(*mean));
	if (!mean)
		return err_nomem(err);
	way = mean + m;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			mean[k++] = (difference[i] + difference[j]) / 2;
	qsort(mean, m, sizeof(*mean), num_order);
	out->effect = (mean[(m - 1) / 2] + mean[m / 2]) / 2;
	if (n <= EXACT) {
		size_t most = n * (n + 1) / 2;

		/* way[w] = P(W <= w), W the sum of those ranks 1..n that a coin chose */
		memset(way, 0, (most + 1) * sizeof(*way));
		way[0] = 1;
		for (size_t rank = 1; rank <= n; rank++)
			for (size_t w = rank * (rank + 1) / 2 + 1; w-- > 0;)
				way[w] = (way[w] + (w >= rank ? way[w - rank] : 0)) / 2;
		for (size_t w = 1; w <= most; w++)
			way[w] += way[w - 1];
	}
	for (size_t i = 0; i < m; i++) { /* means of 0 speak against either direction */
		above += mean[i] >= 0;
		below += mean[i] <= 0;
	}
	out->chance = fmin(1, 2 * rank_chance(n, way, above < below ? above : below));
	if (n >= PAIRED_LEAST) {
		skip = rank_quantile(n, way);
		out->low = mean[skip - 1];
		out->high = mean[m - skip];
		assert(out->low <= out->effect && out->effect <= out->high);
		assert((out->low > 0 || out->high < 0) == (out->chance < 0.05));
	}
	free(mean);
	return 0;
}

/* ---- how much is found ----------------------------------------------------------------------- */

/* Beyond z and -z lies `p` of a normal distribution. */
static double normal_point(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		*(erfc(mid / sqrt(2)) > p ? &low : &high) = mid;
	}
	return low;
}

/* Returns the share of effects `far` from 0 whose first series is beyond `go`, and with the second
 * one beyond `level`. Simpson's rule over the values of the first one. */
static double power(double far, double go, double level)
{
	const int steps = 400;
	double from = go - far, to = fmax(from, 0) + 9, step = (to - from) / steps, sum = 0;

	for (int i = 0; i <= steps; i++) {
		double x = from + i * step;
		double both = erfc(-(x + 2 * far - sqrt(2) * level) / sqrt(2)) / 2;
		double weight = i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;

		sum += weight * exp(-x * x / 2) * both;
	}
	return sum * step / 3 / sqrt(2 * 3.14159265358979323846);
}

double paired_needs(double go, double level)
{
	double z_go = normal_point(go), z_level = normal_point(level), low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		*(power(mid, z_go, z_level) < 0.9 ? &low : &high) = mid;
	}
	return high;
}

/* The spread of one difference. Few pairs underestimate it, hence the added part. */
static double difference_spread(const struct paired *p)
{
	double root = sqrt((double)p->n);

	return (p->high - p->low) / 2 / Z95 * (root + 1);
}

double paired_found(const struct paired *p, double needs)
{
	return difference_spread(p) * needs / sqrt((double)p->n);
}

size_t paired_wanted(const struct paired *p, double effect, double needs)
{
	double n = pow(needs * difference_spread(p) / effect, 2);

	if (isnan(n) || !(effect > 0))
		return 0;
	return n < PAIRED_GOOD ? PAIRED_GOOD : n > 1e9 ? (size_t)1e9 : (size_t)ceil(n);
}
