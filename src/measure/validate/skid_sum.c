/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of the kernel "skid" summed up: shares and quantiles of the distance from its load.
 */
#include <assert.h>
#include <math.h>

#include "measure/validate_skid.h"

#define DISTANCES 128u
#define ELSEWHERE (-1)

/* Instructions behind the load. The instructions that make its address, and those at the end of an
 * iteration, are elsewhere. */
static int distance(const struct kernel_skid *k, uint64_t ip)
{
	uint64_t behind = ip - k->after;

	if (ip == k->load)
		return 0;
	if (ip < k->after || behind >= (uint64_t)k->n * k->step || behind % k->step ||
	    1 + behind / k->step >= DISTANCES)
		return ELSEWHERE;
	return 1 + (int)(behind / k->step);
}

/* ---- a share of the samples ------------------------------------------------------------------ */

struct samples {
	const struct kernel_skid *k;
	const struct validate_seen *seen;
	size_t n;
};

struct question { /* about a sample: is it of these, and if so, is it one that counts? */
	bool (*of)(const struct validate_seen *x, int d);
	bool (*counts)(const struct validate_seen *x, int d, int limit);
	int limit;
};

static void answer_question(signed char hit[VALIDATE_SAMPLES], const struct samples *s,
			    struct question q)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct validate_seen *x = &s->seen[i];
		int d = distance(s->k, x->ip);

		hit[i] = -1;
		if (q.of(x, d))
			hit[i] = q.counts(x, d, q.limit);
	}
}

static struct estimate share_of_hits(const struct samples *s, struct question q, const char *none)
{
	signed char hit[VALIDATE_SAMPLES];

	answer_question(hit, s, q);
	return validate_share(hit, s->n, none);
}

/* ---- a quantile of their distances ----------------------------------------------------------- */

static bool any(const struct validate_seen *x, int d)
{
	(void)x;
	(void)d;
	return true;
}

static bool is_skid_inside(const struct validate_seen *x, int d)
{
	(void)x;
	return d != ELSEWHERE;
}

static bool is_skid_at(const struct validate_seen *x, int d, int limit)
{
	(void)x;
	return d == limit;
}

static bool is_within(const struct validate_seen *x, int d, int limit)
{
	(void)x;
	return d <= limit;
}

/* The distance that this share of those inside does not exceed. */
static int reaches(const size_t at[DISTANCES], size_t all, double part)
{
	size_t sum = 0;

	for (unsigned d = 0; d < DISTANCES; d++) {
		sum += at[d];
		if (sum > 0 && (double)sum >= part * (double)all)
			return (int)d;
	}
	return DISTANCES - 1;
}

/* The interval of the share, as distances that it would be reached at. */
static struct estimate skid_quantile(const struct samples *s, const size_t at[DISTANCES],
				     size_t all, double part)
{
	int d = reaches(at, all, part);
	signed char hit[VALIDATE_SAMPLES];
	double low, high;

	answer_question(hit, s, (struct question){ is_skid_inside, is_within, d });
	share_interval(part, validate_tally(hit, s->n).draws, &low, &high);
	return (struct estimate){ d, fmax(reaches(at, all, high) - d, d - reaches(at, all, low)),
				  NULL };
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool has_address(const struct validate_seen *x, int d)
{
	return d != ELSEWHERE && x->addr && x->has_regs;
}

static bool is_skid_right(const struct validate_seen *x, int d, int limit)
{
	(void)d;
	(void)limit;
	return x->addr == x->reg[0];
}

/* ---- all of it ------------------------------------------------------------------------------- */

void validate_skid_sum(struct validate_skid *out, const struct kernel_skid *k,
		       const struct validate_seen *seen, size_t n)
{
	const struct samples s = { k, seen, n };
	const struct question right = { has_address, is_skid_right, 0 };
	size_t at[DISTANCES] = { 0 }, all = 0;
	signed char hit[VALIDATE_SAMPLES];

	assert(n <= VALIDATE_SAMPLES);
	for (size_t i = 0; i < n; i++) {
		int d = distance(k, seen[i].ip);

		if (d == ELSEWHERE)
			continue;
		at[d]++;
		all++;
	}
	out->samples = n;
	out->outside = n - all;
	out->at = share_of_hits(&s, (struct question){ any, is_skid_at, 0 }, out->why);
	out->next = share_of_hits(&s, (struct question){ any, is_skid_at, 1 }, out->why);
	out->right = share_of_hits(&s, right, out->why ? out->why : "samples have no address");
	answer_question(hit, &s, right);
	out->addresses = validate_tally(hit, n).of;
	out->median = out->p90 = out->most =
		ESTIMATE_NONE(out->why ? out->why : "no sample is at these instructions");
	if (!all)
		return;
	out->median = skid_quantile(&s, at, all, 0.5);
	out->p90 = skid_quantile(&s, at, all, 0.9);
	out->most = (struct estimate){ reaches(at, all, 1), NAN,
				       "the largest that was sampled: others may be larger" };
}
