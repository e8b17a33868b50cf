/* SPDX-License-Identifier: BSD-3-Clause */
#include "monitor/monitor_turns.h"

#include <math.h>

#include "base/estimate.h"

/* A quarter to seven quarters of the step. */
uint64_t turns_length(struct turns *t)
{
	t->chance = t->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return t->step / 4 +
	       (uint64_t)(1.5 * (double)t->step * ((double)(t->chance >> 32) * 0x1p-32));
}

size_t turns_next(struct turns *t, uint64_t now)
{
	size_t next = (t->now + 1) % t->n;

	t->spent[t->now] += now - t->since;
	t->since = now;
	for (size_t i = 2; i < t->n; i++) {
		size_t g = (t->now + i) % t->n;

		if (t->spent[g] < t->spent[next])
			next = g;
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

/* Squares of what slices counted more or less than the mean rate in their time. */
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
