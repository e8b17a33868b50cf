/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of few slices: their own slices cannot show how far off they are.
 *
 * A program spends the share q of its time in another way. n slices at random moments all miss that
 * with the chance (1 - q)^n: of 4 slices, half of the time may be missed once in 16 runs, 20 % of
 * it in 4 of 10. Such slices are alike, and their variance is nearly 0: Student's factor for n - 1
 * multiplies nothing. So the bar of a group with few slices is never below the change that all
 * groups of the counters together saw: they looked at the same program at other moments, k groups
 * at k times as many.
 *
 * Of each group it is the median of its events' relative variances, so that neither an event that
 * never changes nor a rare one speaks for the others; each weighs by its degrees of freedom, and
 * the factor is Student's for their sum. From FEW slices on the group speaks for itself: 10 miss a
 * share of 26 % once in 20 runs.
 */
#include <math.h>

#include "model/slices/slices_int.h"

#define FEW    10
#define UNSEEN 0.01 /* of the time; less leaves no room to be off */

static double few_sum_of(const struct slices_few *x, uint32_t event)
{
	double sum = 0;

	for (size_t t = 0; t < x->s->n_targets; t++)
		if (!isnan(x->count[event * x->s->n_targets + t]))
			sum += x->count[event * x->s->n_targets + t];
	return sum;
}

/* Factor from an event's relative variance in one unseen slice to the variance of its count; 0 if
 * the event has no rate. */
static double scale_of(const struct slices_few *x, size_t g, uint32_t event)
{
	double sum = few_sum_of(x, event), unseen = 1 - x->counted[event];

	return sum > 0 && unseen > UNSEEN ? sum * sum * unseen / (double)x->n[g] : 0;
}

static double relative(const struct slices_few *x, size_t g, double *room)
{
	const struct slices_kept *k = &x->s->group[g];
	double factor = slices_student2((double)(x->n[g] - 1));
	size_t n = 0;

	for (size_t m = 0; m < k->n_own; m++) {
		double scale = scale_of(x, g, k->event[k->member[m]]);

		if (scale > 0)
			room[n++] = x->cov[g][m * k->n_own + m] / factor / scale;
	}
	return n ? slices_median(room, n) : (double)NAN;
}

void slices_few(const struct slices_few *x, double *room)
{
	double sum = 0, freedom = 0;

	for (size_t g = 0; g < x->n_groups; g++) {
		double v = x->cov[g] && x->n[g] > 1 ? relative(x, g, room) : (double)NAN;

		if (!(v >= 0) || !isfinite(v))
			continue;
		sum += v * (double)(x->n[g] - 1);
		freedom += (double)(x->n[g] - 1);
	}
	for (size_t g = 0; g < x->n_groups && freedom > 0; g++) {
		const struct slices_kept *k = &x->s->group[g];
		double least = slices_student2(freedom) * sum / freedom;

		for (size_t m = 0; x->cov[g] && x->n[g] < FEW && m < k->n_own; m++) {
			double *to = &x->cov[g][m * k->n_own + m];

			*to = fmax(*to, least * scale_of(x, g, k->event[k->member[m]]));
		}
	}
}
