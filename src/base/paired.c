/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/estimate.h"
#include "base/invariant.h"
#include "base/num.h"

#define EXACT 100u /* pairs up to which ranks are counted out; beyond, their sum is normal */
#define Z99   2.5758293035489004
/* Two tests of 0.9487 each hold together in 9 of 10 cases: its point of the normal distribution. */
#define Z_BOTH 1.6325

/* What an interval leaves out on either side: a part of all cases, and where that is of a normal
 * distribution. */
static const struct tail {
	double p, z;
} tails[] = { { 0.025, Z95 }, { 0.005, Z99 } };

enum { BY_95, BY_99, TAILS };

/* Of each tail the smallest w with P(W <= w) >= p, where W is the sum of those of the ranks 1..n
 * that a coin chose. `way`: room for n * (n + 1) / 2 + 1. */
static void rank_quantiles(size_t n, double *way, size_t out[TAILS])
{
	size_t most = n * (n + 1) / 2;
	double mean = (double)most / 2;
	double sd = sqrt((double)n * (double)(n + 1) * (double)(2 * n + 1) / 24);

	for (size_t t = 0; n > EXACT && t < TAILS; t++)
		out[t] = (size_t)fmax(1, floor(mean - tails[t].z * sd));
	if (n > EXACT)
		return;
	memset(way, 0, (most + 1) * sizeof(*way));
	way[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t w = rank * (rank + 1) / 2 + 1; w-- > 0;)
			way[w] = (way[w] + (w >= rank ? way[w - rank] : 0)) / 2;
	for (size_t t = 0; t < TAILS; t++) {
		double sum = way[0];

		for (out[t] = 0; sum < tails[t].p && out[t] < most;)
			sum += way[++out[t]];
	}
}

/* Whether the interval of sorted means without the first and last `skip` - 1 excludes 0. */
static bool excludes_0(const double *mean, size_t m, size_t skip)
{
	return mean[skip - 1] > 0 || mean[m - skip] < 0;
}

int paired_effect(struct paired *out, const double *difference, size_t n, struct err *err)
{
	size_t m = n * (n + 1) / 2, k = 0, skip[TAILS];
	double *mean;

	*out = (struct paired){ .n = n, .effect = NAN, .low = NAN, .high = NAN };
	if (!n)
		return 0;
	assert(n <= PAIRED_MOST);
	mean = calloc(2 * m + 1, sizeof(*mean));
	if (!mean)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			mean[k++] = (difference[i] + difference[j]) / 2;
	qsort(mean, m, sizeof(*mean), num_order);
	out->effect = (mean[(m - 1) / 2] + mean[m / 2]) / 2;
	if (n >= PAIRED_LEAST) {
		rank_quantiles(n, mean + m, skip);
		skip[BY_95] += !skip[BY_95];
		out->low = mean[skip[BY_95] - 1];
		out->high = mean[m - skip[BY_95]];
		out->differs = excludes_0(mean, m, skip[BY_95]);
		out->differs_99 = skip[BY_99] && excludes_0(mean, m, skip[BY_99]);
		assert(out->low <= out->effect && out->effect <= out->high);
	}
	free(mean);
	return 0;
}

/* The spread of one difference. Few pairs underestimate it, hence the added part. */
static double spread(const struct paired *p)
{
	double root = sqrt((double)p->n);

	return (p->high - p->low) / 2 / Z95 * (root + 1);
}

double paired_found(const struct paired *p)
{
	return spread(p) * (Z95 + Z_BOTH) / sqrt((double)p->n);
}

size_t paired_wanted(const struct paired *p, double effect)
{
	double n = pow((Z95 + Z_BOTH) * spread(p) / effect, 2);

	if (isnan(n) || !(effect > 0))
		return 0;
	return n < PAIRED_GOOD ? PAIRED_GOOD : n > 1e9 ? (size_t)1e9 : (size_t)ceil(n);
}
