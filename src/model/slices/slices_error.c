/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far counts can be off, and how events that count in several groups make the others more
 * exact.
 *
 * Cycles count in every group, so of the whole time they are known (nearly) exactly. An event of
 * one group alone is then better estimated by its ratio to the cycles of that group, times the
 * cycles of all: the error that is left is how that ratio changes from slice to slice.
 */
#include <math.h>

#include "base/estimate.h"
#include "model/slices/slices_int.h"

#define OFF_MATTERS 0.01 /* of the time that the group was switched off */
#define BETTER	    0.8	 /* of the variance must be left at most, or the event is left alone */
#define FOLDS	    6.0
#define WANDER	    0.33 /* share of a drift that is error; in theory a sixth */
#define CARE	    1.5	 /* standard errors of a ratio of squared differences, about */
#define WANDER_FEW  10	 /* strata: with fewer, drift looks like noise */
#define FAR	    10.0 /* a target whose shared event is off by such a factor is left alone */

/* A target that ran while the group never came to its turn there: as the others are, on the whole;
 * and as far off as they are from each other. */
static void fill_unseen(struct span *p, size_t m, double *extra)
{
	const struct slices_kept *k = &p->s->group[p->group];
	size_t n_targets = p->s->n_targets, event = p->member[m], n = 0, unseen = 0;
	double sum = 0, sum2 = 0, mean, var;

	for (size_t t = 0; t < n_targets; t++)
		unseen += isnan(p->count[m * n_targets + t]) && k->seen[event * n_targets + t];
	if (!unseen)
		return;
	for (size_t t = 0; t < n_targets; t++) {
		double r = 0, v = 0;

		for (size_t i = 0; i < p->n; i++) {
			r += OWN(p, event, t, i, running);
			v += OWN(p, event, t, i, value);
		}
		if (!(r > 0))
			continue;
		sum += v / r;
		sum2 += v / r * (v / r);
		n++;
	}
	if (!n)
		return;
	mean = sum / (double)n;
	var = n > 1 ? (sum2 - sum * mean) / (double)(n - 1) : mean * mean;
	for (size_t t = 0; t < n_targets; t++) {
		double exists = 0;

		if (!isnan(p->count[m * n_targets + t]) || !k->seen[event * n_targets + t])
			continue;
		for (size_t i = 0; i < p->n; i++)
			exists += p->exists[t * p->n + i];
		p->count[m * n_targets + t] = exists * mean;
		*extra += exists * exists * (var > 0 ? var : 0);
		p->sampled = true;
	}
}

/* A rate while this group was off, by that while it was on; NAN if one of them is not known. */
static double off_by_on(const struct span *p, size_t group, size_t event)
{
	const struct slices *s = p->s;
	double v[2] = { 0, 0 }, r[2] = { 0, 0 };

	for (size_t t = 0; t < s->n_targets; t++) {
		struct slices_cell b, a = slices_then(s, group, event, t, slices_when(p, group, 0));

		for (size_t i = 0; i < p->n; i++, a = b) {
			bool on;

			b = slices_then(s, group, event, t, slices_when(p, group, i + 1));
			on = OWN(p, p->member[0], t, i, enabled) > (b.enabled - a.enabled) / 2;
			v[on] += b.value - a.value;
			r[on] += b.running - a.running;
		}
	}
	return r[0] > 0 && r[1] > 0 && v[1] > 0 ? v[0] / r[0] / (v[1] / r[1]) : (double)NAN;
}

/* Change of the events that always counted between the time that this group was on and off, by the
 * shared event that estimates them (`shared`: in the last group; NO_SHARED: none). */
struct change {
	double common; /* square of the mean of relative changes: all go up or down together */
	double alone;  /* their variance: each goes its own way */
};

static struct change change_while_off(const struct span *p, size_t shared)
{
	const struct slices *s = p->s;
	struct change c = { 0, 0 };
	size_t n = 0, ref = p->ref[0];
	double sum = 0, sum2 = 0, known = 1;

	if (ref == p->group)
		return c;
	if (shared != NO_SHARED) {
		known = off_by_on(p, s->n_groups - 1, shared);
		if (!(known > 0))
			known = 1;
	}
	for (size_t e = 0; e < s->group[ref].n; e++) {
		double change = off_by_on(p, ref, e) / known - 1;

		if (isnan(change) ||
		    (shared != NO_SHARED &&
		     s->group[ref].event[e] == s->group[s->n_groups - 1].event[shared]))
			continue;
		sum += change;
		sum2 += change * change;
		n++;
	}
	if (n < 2) { /* nothing to compare with: it can be all of it */
		c.alone = n ? sum2 : 1;
		return c;
	}
	c.common = pow(sum / (double)n, 2);
	c.alone = (sum2 - sum * sum / (double)n) / (double)(n - 1);
	return c;
}

double slices_student2(double df)
{
	const double z = Z95, z3 = z * z * z, z5 = z3 * z * z;
	double t = z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df);

	return t * t / (z * z);
}

double slices_median(double *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j && v[j] < v[j - 1]; j--) {
			double t = v[j];

			v[j] = v[j - 1];
			v[j - 1] = t;
		}
	return v[n / 2];
}

static double error_sum_of(const struct span *p, size_t m)
{
	size_t targets = p->s->n_targets;
	double sum = 0;

	for (size_t t = 0; t < targets; t++)
		if (!isnan(p->count[m * targets + t]))
			sum += p->count[m * targets + t];
	return sum;
}

/* The squared differences of one event after subtracting `by` times another's. */
static double left_of(const struct span *p, size_t m, size_t x, double by)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		const double *d = &p->diff[i * p->n_members];

		sum += pow(d[m] - by * d[x], 2);
	}
	return sum;
}

/* The shared event of this group that explains most of it; p->n_members: none does. */
static size_t find_shared(const struct span *p, size_t m)
{
	double least = BETTER * left_of(p, m, m, 0);
	size_t best = p->n_members;

	for (size_t x = p->n_own; x < p->n_members; x++) {
		double sum = error_sum_of(p, x), left;

		if (!(sum > 0))
			continue;
		left = left_of(p, m, x, error_sum_of(p, m) / sum);
		if (left < least) {
			least = left;
			best = x;
		}
	}
	return best;
}

static void tell_counts(struct span *p, size_t m, size_t x)
{
	size_t targets = p->s->n_targets;
	uint32_t event = p->s->group[p->group].event[p->member[x]];
	const double *whole = &p->shared_count[event * targets];

	for (size_t t = 0; t < targets; t++) {
		double f = whole[t] / p->count[x * targets + t];

		if (f > 1 / FAR && f < FAR)
			p->count[m * targets + t] *= f;
	}
}

/* Estimates an event from a shared one, whose total is known. */
static void tell_by(struct span *p, size_t m, size_t x)
{
	double before = error_sum_of(p, m), by = before / error_sum_of(p, x), scale;

	tell_counts(p, m, x);
	scale = before > 0 ? error_sum_of(p, m) / before : 1;
	for (size_t i = 0; i < p->n; i++) {
		double *d = &p->diff[i * p->n_members];

		d[m] = scale * (d[m] - by * d[x]);
		if (!p->diff2)
			continue;
		d = &p->diff2[i * p->n_members];
		d[m] = scale * (d[m] - by * d[x]);
	}
	p->told_by[m] = x;
	p->told_how[m] = scale * by;
}

/* Variance of the whole of a shared event. */
static double shared_var(const struct span *p, size_t x)
{
	const struct slices_kept *all = &p->s->group[p->s->n_groups - 1];
	uint32_t event = p->s->group[p->group].event[p->member[x]];

	for (size_t i = 0; i < all->n && p->shared_cov; i++)
		if (all->event[i] == event)
			return p->shared_cov[i * all->n + i];
	return 0;
}

static size_t shared_at(const struct span *p, size_t x)
{
	const struct slices_kept *all = &p->s->group[p->s->n_groups - 1];
	uint32_t event = p->s->group[p->group].event[p->member[x]];

	for (size_t i = 0; i < all->n; i++)
		if (all->event[i] == event)
			return i;
	return NO_SHARED;
}

/* Neighbouring intervals differ by the time that was not seen, and now and then because the program
 * went on to something else. The latter is no error of this interval: differences are cut to FOLDS
 * times the median. */
static void calm(struct span *p)
{
	double *size = p->rate; /* done with; by slice */

	for (size_t m = 0; m < p->n_own; m++) {
		double most;
		size_t n = 0;

		for (size_t i = 0; i < p->n; i++) {
			double d = fabs(p->diff[i * p->n_members + m]);

			if (d > 0)
				size[n++] = d;
		}
		most = n ? FOLDS * slices_median(size, n) : 0;
		for (size_t i = 0; i < p->n && n; i++) {
			double *d = &p->diff[i * p->n_members + m];

			if (fabs(*d) > most)
				*d = *d < 0 ? -most : most;
		}
	}
}

static void add_products(double *to, const double *diff, const struct span *p)
{
	size_t n = p->n_own;

	for (size_t i = 0; i < p->n; i++) {
		const double *d = &diff[i * p->n_members];

		for (size_t a = 0; a < n; a++) {
			double *row = to + a * n, by = d[a];

			for (size_t b = 0; by != 0 && b <= a; b++)
				row[b] += by * d[b];
		}
	}
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			to[a * n + b] = to[b * n + a];
}

/* Removes drift from the differences of neighbours. If a program's phases last longer than a slice,
 * the difference of two slices is only partly error: a sixth if differences grow in proportion to
 * the distance (as for any systematic sample of a line). Noise from turn to turn is error in full.
 * Slices two apart separate both: drift differs twice as much (squared) as between neighbours,
 * noise just as much; so noise is twice the one less the other. In doubt the error is larger:
 * differences of few slices are reduced (CARE), and values below 0 become 0. */
static void take_wandering_off(struct span *p)
{
	size_t n = p->n_own;
	double *noise = p->noise, care = 1 - CARE / sqrt((double)p->most_strata);

	memset(noise, 0, n * n * sizeof(*noise));
	add_products(noise, p->diff2, p);
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			double scale = sqrt(p->cov[a * n + a] * p->cov[b * n + b]);
			double *x = &noise[a * n + b];

			*x = scale > 0 ? (2 * p->cov[a * n + b] - care * *x) / scale : 0;
		}
	slices_above_0(noise, p->room, n);
	for (size_t a = 0; a < n; a++)
		p->room[a] = noise[a * n + a] > 1 ? 1 / sqrt(noise[a * n + a]) : 1;
	for (size_t a = 0; a < n; a++)
		p->room[n + a] = sqrt(p->cov[a * n + a]) * p->room[a];
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			p->cov[a * n + b] =
				WANDER * p->cov[a * n + b] +
				(1 - WANDER) * noise[a * n + b] * p->room[n + a] * p->room[n + b];
}

/* Events of a split group saw different slices of time: if they changed together, that does not
 * show that their errors do. */
static bool were_together(const struct span *p, size_t a, size_t b)
{
	const struct slices_kept *k = &p->s->group[p->group];

	for (size_t t = 0; t < p->s->n_targets; t++)
		if (k->same[p->member[a] * p->s->n_targets + t] !=
		    k->same[p->member[b] * p->s->n_targets + t])
			return false;
	return true;
}

static void fill_cov(struct span *p)
{
	double factor = slices_student2(p->most_strata > 1 ? (double)(p->most_strata - 1) : 1) / 2;
	size_t n = p->n_own;

	add_products(p->cov, p->diff, p);
	if (!p->calm && p->most_strata >= WANDER_FEW)
		take_wandering_off(p);
	for (size_t i = 0; i < n * n; i++)
		p->cov[i] *= factor;
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			if (a != b && !were_together(p, a, b))
				p->cov[a * n + b] = 0;
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			if (p->told_by[a] < p->n_members && p->told_by[a] == p->told_by[b])
				p->cov[a * n + b] += p->told_how[a] * p->told_how[b] *
						     shared_var(p, p->told_by[a]);
}

/* Adds the error of the time in which the group was switched off. */
static void add_off(struct span *p)
{
	double off = p->time[0] > 0 ? p->off / p->time[0] : 0;
	struct change c = { 0, 0 };

	if (!(off > OFF_MATTERS) || p->visits)
		return;
	for (size_t a = 0; a < p->n_own; a++) {
		size_t x = p->told_by[a];

		if (!a || x != p->told_by[a - 1])
			c = change_while_off(p, x < p->n_members ? shared_at(p, x) : NO_SHARED);
		p->cov[a * p->n_own + a] += c.alone * pow(off * error_sum_of(p, a), 2);
		for (size_t b = 0; b < p->n_own; b++)
			if (p->told_by[b] == x)
				p->cov[a * p->n_own + b] += c.common * off * off *
							    error_sum_of(p, a) * error_sum_of(p, b);
	}
}

void slices_errors(struct span *p)
{
	for (size_t m = 0; m < p->n_members; m++)
		fill_unseen(p, m, &p->extra[m]);
	for (size_t m = 0; m < p->n_own; m++) {
		size_t x = p->told_by[m] = find_shared(p, m);

		if (x < p->n_members)
			tell_by(p, m, x);
	}
	if (p->calm)
		calm(p);
	fill_cov(p);
	for (size_t m = 0; m < p->n_own; m++)
		p->cov[m * p->n_own + m] += p->extra[m];
	add_off(p);
}

void slices_narrow(struct span *p, struct span *q)
{
	double longer = q->time[0] > 0 ? p->time[0] / q->time[0] : 1;
	size_t n = p->n_own;

	for (size_t m = 0; m < q->n_members; m++)
		fill_unseen(q, m, &q->extra[m]);
	for (size_t m = 0; m < n; m++)
		if (p->told_by[m] < p->n_members)
			tell_counts(q, m, p->told_by[m]);
	for (size_t a = 0; a < n; a++) {
		double sum = error_sum_of(p, a),
		       by = sum > 0 ? error_sum_of(q, a) / sum * sqrt(longer) : 0;

		for (size_t b = 0; b < n; b++) {
			p->cov[a * n + b] *= by;
			p->cov[b * n + a] *= by;
		}
	}
}
