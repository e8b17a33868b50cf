/* SPDX-License-Identifier: BSD-3-Clause */
/* flow_shape - the shape of a distribution of times, by buckets. */
#include <math.h>

#include "analyse/flow.h"
#include "base/estimate.h"

#define SLOWEST	   0.05
#define HEAVY	   0.25 /* of all cycles in the slowest: five times their due */
#define MODE_LEAST 0.05 /* of all times */
#define VALLEY	   0.5	/* of the lower one of two peaks */
#define CHANCE	   3.0	/* standard deviations of both */
#define APART	   4.0	/* cycles, and */
#define TIMES	   1.5

static double width(unsigned bucket)
{
	return (double)flow_time_from(bucket + 1) - flow_time_from(bucket);
}

/* As if times were spread evenly over their bucket; one cycle alone is itself. */
static double middle(unsigned bucket)
{
	return flow_time_from(bucket) + (width(bucket) - 1) / 2;
}

/* Returns the cycles that a share of all times do not exceed. */
static double at_share(const struct flow_times *t, double all, double share)
{
	double want = share * all, sum = 0;

	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++) {
		double n = t->n[i];

		if (n > 0 && sum + n >= want)
			return flow_time_from(i) + (width(i) - 1) * fmax(want - sum, 0) / n;
		sum += n;
	}
	return NAN;
}

/* Order statistics: of so many independent stacks a share this many standard deviations up or down.
 * Bounds are those of buckets. */
static struct flow_quantile quantile(const struct flow_times *t, double all, double stacks,
				     double q)
{
	double off = Z95 * sqrt(q * (1 - q) / stacks);
	struct flow_quantile out = { at_share(t, all, q), 0, NAN };
	double low = at_share(t, all, fmax(q - off, 0)), high = at_share(t, all, q + off);

	out.low = flow_time_from(flow_time_bucket((uint32_t)low));
	if (q + off < 1)
		out.high = flow_time_from(flow_time_bucket((uint32_t)ceil(high)) + 1) - 1;
	return out;
}

/* Returns the share of the slowest in all cycles: 1 minus that of the others. */
static double tail_of(const struct flow_times *t, double all, double cycles)
{
	double left = all * (1 - SLOWEST), sum = 0;

	for (unsigned i = 0; i < FLOW_TIME_BUCKETS && left > 0; i++) {
		double n = fmin(t->n[i], left);

		sum += n * middle(i);
		left -= n;
	}
	return fmin(fmax(1 - sum / cycles, 0), 1);
}

struct peak {
	unsigned at;
	double density, n;
	double valley; /* the least density between it and the one before, */
	unsigned low;  /* and its bucket */
};

static bool far_apart(const struct peak *a, const struct peak *b)
{
	double x = middle(a->at), y = middle(b->at);

	return y - x >= APART && y >= x * TIMES;
}

/* Returns true if two neighbours are one mode: the valley between them is shallow, or no more than
 * chance. */
static bool is_one(const struct peak *a, const struct peak *b, double all, double stacks)
{
	const struct peak *lower = a->density < b->density ? a : b;
	double deep = lower->density - b->valley;
	/* densities are counts, of which as many are independent as stacks */
	double sd = sqrt(all / stacks *
			 (lower->density / width(lower->at) + b->valley / width(b->low)));

	return !far_apart(a, b) || b->valley > VALLEY * lower->density || deep < CHANCE * sd ||
	       fmin(a->n, b->n) < MODE_LEAST * all;
}

static void join(struct peak *a, const struct peak *b)
{
	if (b->density > a->density) {
		a->at = b->at;
		a->density = b->density;
	}
	a->n += b->n;
}

/* Every rise and fall of the density; times in a valley are those of the peak before it. */
static unsigned find_peaks(const struct flow_times *t, struct peak p[FLOW_TIME_BUCKETS])
{
	double before = 0, least = 0;
	unsigned low = 0;
	bool rising = false;
	unsigned n = 0;

	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++) {
		double d = t->n[i] / width(i);

		if (d > before && !rising) {
			p[n++] = (struct peak){ .valley = least, .low = low };
			rising = true;
		} else if (d < before) {
			rising = false;
			least = d;
			low = i;
		}
		if (n)
			p[n - 1].n += t->n[i];
		if (n && d > p[n - 1].density) {
			p[n - 1].density = d;
			p[n - 1].at = i;
		}
		before = d;
	}
	return n;
}

static void find_modes(struct flow_shape *out, const struct flow_times *t, double all,
		       double stacks)
{
	struct peak p[FLOW_TIME_BUCKETS];
	unsigned n = find_peaks(t, p), i = 1;

	while (i < n) { /* neighbours that are one, until none are */
		if (!is_one(&p[i - 1], &p[i], all, stacks)) {
			i++;
			continue;
		}
		join(&p[i - 1], &p[i]);
		for (unsigned k = i; k + 1 < n; k++)
			p[k] = p[k + 1];
		n--;
		i = i > 1 ? i - 1 : 1;
	}
	out->modes = n < FLOW_MODES ? n : FLOW_MODES;
	for (i = 0; i < out->modes; i++) {
		out->mode[i].at = middle(p[i].at);
		out->mode[i].share = p[i].n / all;
	}
	out->several = n > 1;
}

void flow_shape(struct flow_shape *out, const struct flow_times *t, uint64_t cycles,
		uint64_t stacks)
{
	double all = 0;

	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++)
		all += t->n[i];
	*out = (struct flow_shape){ .n = (uint64_t)all, .tail = NAN };
	out->p50 = out->p95 = (struct flow_quantile){ NAN, NAN, NAN };
	if (!(all > 0) || !stacks || !cycles)
		return;
	out->p50 = quantile(t, all, (double)stacks, 0.5);
	out->p95 = quantile(t, all, (double)stacks, 0.95);
	if (!isnan(out->p95.high)) /* else the slowest were hardly seen */
		out->tail = tail_of(t, all, (double)cycles);
	out->heavy = out->tail >= HEAVY;
	find_modes(out, t, all, (double)stacks);
}
