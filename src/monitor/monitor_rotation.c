/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/monitor_rotation.h"

#include <math.h>

#include "base/estimate.h"
#include "model/rounds.h"

#define ORDER 1.5 /* steps: how much less a group may have had than another that is next */

uint64_t rotation_length(struct rotation *t)
{
	return rounds_length(&t->chance, t->step);
}

size_t rotation_next(struct rotation *t, uint64_t now)
{
	double least = INFINITY;
	size_t next = 0;

	t->spent[t->now] += now - t->since;
	t->since = now;
	for (size_t g = 0; g < t->n; g++) {
		double had =
			(double)t->spent[g] + ORDER * (double)t->step * rounds_draw(&t->chance);

		if (had < least) {
			least = had;
			next = g;
		}
	}
	return next;
}

void seen_add(struct seen *s, double counted, double ns)
{
	s->n++;
	s->sum += counted;
	s->ns += ns;
	s->sums += counted * counted;
	s->products += counted * ns;
	s->squares += ns * ns;
}

/* Squares of the differences of slices from the mean rate in their time. */
static double squares(const struct seen *s)
{
	double rate = s->sum / s->ns;

	return fmax(s->sums - 2 * rate * s->products + rate * rate * s->squares, 0);
}

double seen_spread(const struct seen *s)
{
	double mean = s->sum / (double)s->n;

	return squares(s) / (mean * mean);
}

void pool_add(struct pool *p, double spread, size_t n)
{
	p->spread += spread;
	p->freedom += n - 1;
}

double seen_half(const struct seen *s, const struct pool *p, double share)
{
	double own = NAN, all = NAN, unseen = 1 - share, n = (double)s->n;

	if (s->n > 1)
		own = t95(s->n - 1) * sqrt(squares(s) * n / (n - 1) * unseen) / s->ns;
	if (p->freedom && s->n)
		all = t95(p->freedom) * sqrt(p->spread / (double)p->freedom / n * unseen) * s->sum /
		      s->ns;
	return fmax(own, all); /* of a number and no number it is the number */
}
