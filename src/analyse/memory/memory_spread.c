/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of a spread: means, quantiles and their errors.
 */
#include <math.h>

#include "analyse/memory/memory_int.h"
#include "base/invariant.h"

#define SERIAL_LEAST  30  /* samples */
#define SERIAL_CYCLES 0.1 /* of all latencies */

static const char few[] = "too few samples";

enum memop_latency memory_shown_of(unsigned latencies)
{
	static const enum memop_latency order[] = {
		MEMOP_LATENCY_DATA, MEMOP_LATENCY_FETCH,       MEMOP_LATENCY_TOTAL,
		MEMOP_LATENCY_TAG,  MEMOP_LATENCY_INSTRUCTION, MEMOP_LATENCY_RETIRE
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (latencies >> order[i] & 1)
			return order[i];
	return MEMOP_LATENCY_DATA;
}

enum memop_latency memory_shown_latency(const struct memory *m)
{
	return memory_shown_of(m->work->c.latencies);
}

struct estimate memory_mean(const struct memory_spread *s)
{
	return sums_mean(s->n, s->sum, s->squares, few);
}

/* Returns the k-th smallest, from 1 on. */
static double kth(const struct memory *m, const struct memory_spread *s, uint64_t k)
{
	size_t n;
	const struct memory_bin *bin = memory_bins(m, s, &n);
	uint64_t seen = 0;

	assert(k >= 1 && k <= s->n);
	for (size_t i = 0; i < n; i++) {
		seen += bin[i].n;
		if (seen >= k)
			return bin[i].cycles;
	}
	return (double)s->most;
}

/* How many of n samples, each beyond the quantile with chance p, may be beyond it: [*least, *most)
 * with 2.5 % on either side; *least -1: even none would not be too few. */
static void beyond(uint64_t n, double p, int64_t *least, int64_t *most)
{
	double mean = (double)n * p, half = Z95 * sqrt(mean * (1 - p));
	double chance, below = 0;
	int64_t k;

	if (mean > 200) { /* near enough to normal */
		*least = (int64_t)floor(mean - half - 0.5);
		*most = (int64_t)ceil(mean + half + 0.5);
		return;
	}
	*least = -1;
	chance = exp((double)n * log1p(-p));
	for (k = 0; 1 - below > 0.025 && k <= (int64_t)n; k++) {
		below += chance;
		if (below <= 0.025)
			*least = k;
		chance *= (double)(n - (uint64_t)k) / (double)(k + 1) * p / (1 - p);
	}
	*most = k;
}

struct estimate memory_quantile(const struct memory *m, const struct memory_spread *s, double q)
{
	double at = q * (double)(s->n - 1), low, v;
	uint64_t k = (uint64_t)at;
	int64_t least, most;

	if (!s->n)
		return ESTIMATE_NONE(few);
	low = kth(m, s, k + 1);
	v = k + 2 <= s->n ? low + (at - (double)k) * (kth(m, s, k + 2) - low) : low;
	beyond(s->n, 1 - q, &least, &most);
	if (least < 0 || most > (int64_t)s->n)
		return (struct estimate){ v, NAN, few };
	return (struct estimate){ v,
				  fmax(v - kth(m, s, s->n + 1 - (uint64_t)most),
				       kth(m, s, s->n - (uint64_t)least) - v),
				  NULL };
}

struct estimate memory_open(const struct memory_group *g)
{
	return sums_mean(g->open.n, g->open.sum, g->open.squares,
			 "no load tells how many misses were open");
}

bool memory_serial(const struct memory *m, const struct memory_group *g)
{
	const struct memory_spread *s = memory_spread(m, g, MEMOP_LATENCY_DATA);
	struct estimate open = memory_open(g),
			cycles = s ? memory_cycles_share(m, s) : ESTIMATE_NONE("");

	return g->open.n >= SERIAL_LEAST && open.v + open.half < 2 && cycles.v >= SERIAL_CYCLES;
}

/* A ratio of sums over the same draws. */
struct estimate memory_cycles_share(const struct memory *m, const struct memory_spread *s)
{
	const struct memory_spread *all = memory_spread(m, &m->group[0], s->latency);
	double share, var;

	if (!all || !(all->sum > 0))
		return ESTIMATE_NONE("no cycles");
	share = s->sum / all->sum;
	var = (1 - 2 * share) * s->squares + share * share * all->squares;
	return (struct estimate){ share, Z95 * sqrt(fmax(0, var)) / all->sum, NULL };
}

uint64_t memory_count_in(const struct memory *m, const struct memory_spread *s, int log2)
{
	double from = log2 < 0 ? 0 : ldexp(1, log2), until = log2 < 0 ? 1 : 2 * from;
	size_t n;
	const struct memory_bin *bin = memory_bins(m, s, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (bin[i].cycles >= from && bin[i].cycles < until)
			sum += bin[i].n;
	return sum;
}
