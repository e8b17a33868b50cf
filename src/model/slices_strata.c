/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slices of one event on one target as strata: v counted in r of the time, for which the stratum
 * stands for w. Slices in which it hardly ran are put to the next; time in which it did not run at
 * all is given to as much time on both sides. The whole is the sum of w * v / r.
 */
#include <math.h>
#include <string.h>

#include "model/slices_int.h"

#define HARDLY 0.5    /* of the mean time on the counters in a slice: less is put to the next */
#define POOL   8      /* slices */
#define UNLIKE 2.5    /* times the share on the counters */
#define ALWAYS 0.9999 /* of the time on the counters is all of it */

size_t slices_nearest(const struct slices_kept *k, uint64_t t)
{
	size_t lo = 0, hi = k->t.n - 1;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (k->t.v[mid] < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && k->t.v[lo] > t && t - k->t.v[lo - 1] < k->t.v[lo] - t)
		lo--;
	return lo;
}

/* A group's cell at any time, between its readings by straight lines. */
struct slices_cell slices_between(const struct slices *s, size_t group, size_t event, size_t target,
				  uint64_t t, size_t *hint)
{
	const struct slices_kept *k = &s->group[group];
	const struct slices_cell *a, *b;
	struct slices_cell c;
	double f;

	while (*hint + 1 < k->t.n && k->t.v[*hint + 1] <= t)
		++*hint;
	a = slices_at(s, group, *hint, event, target);
	if (*hint + 1 >= k->t.n || k->t.v[*hint] >= t)
		return *a;
	b = slices_at(s, group, *hint + 1, event, target);
	f = (double)(t - k->t.v[*hint]) / (double)(k->t.v[*hint + 1] - k->t.v[*hint]);
	c.value = a->value + f * (b->value - a->value);
	c.enabled = a->enabled + f * (b->enabled - a->enabled);
	c.running = a->running + f * (b->running - a->running);
	return c;
}

static double above_0(double v)
{
	return v > 0 ? v : 0;
}

/* How long the target ran in a slice: what the reference says, or more if this group was enabled
 * longer. Groups are read one after the other: this one's slice can end later than the reference's
 * (by `late` in all), which the next slice makes up for; so it is the sums that are compared. */
static double ran(const struct span *p, size_t target, size_t slice, double ref, double *late)
{
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo + slice, 0, target);
	size_t step = p->s->group[p->group].stride, n_targets = p->s->n_targets;
	double own = 0, before = above_0(*late);

	for (size_t m = 0; m < p->n_members; m++) {
		const struct slices_cell *at = &c[p->member[m] * n_targets];
		double d = at[step].enabled - at->enabled;

		own = d > own ? d : own;
	}
	if (own < ref / 2 || ref < own / 2) /* one of them was switched off */
		return own > ref ? own : ref;
	*late += own - ref;
	return ref + above_0(*late) - before;
}

/* How long the target ran in each slice. The reference's longest enabled event stands for it. */
void slices_exists(struct span *p, size_t target)
{
	const struct slices *s = p->s;
	const struct slices_kept *k = &s->group[p->group], *r = &s->group[p->ref[target]];
	size_t hint = 0, event = 0;
	double before, late = 0;

	for (size_t e = 1; e < r->n; e++)
		if (slices_at(s, p->ref[target], r->t.n - 1, e, target)->enabled >
		    slices_at(s, p->ref[target], r->t.n - 1, event, target)->enabled)
			event = e;
	before = slices_between(s, p->ref[target], event, target, k->t.v[p->lo], &hint).enabled;
	for (size_t i = 0; i < p->n; i++) {
		uint64_t t = k->t.v[p->lo + i + 1];
		double now = slices_between(s, p->ref[target], event, target, t, &hint).enabled;

		p->exists[i] = ran(p, target, i, now - before, &late);
		before = now;
	}
}

/* Where groups were switched on or off, so that the share of the others changes. They are switched
 * on all targets at once: one is looked at. */
void slices_cuts(struct span *p)
{
	const struct slices *s = p->s;
	const struct slices_kept *k = &s->group[p->group];
	size_t target = 0;

	for (size_t t = 1; t < s->n_targets; t++)
		if (p->total[t] > p->total[target])
			target = t;
	slices_exists(p, target);
	for (size_t g = 0; g < s->n_groups; g++) {
		size_t hint = 0;
		bool was = false;
		double before;

		if (!s->group[g].n)
			continue;
		before = slices_between(s, g, 0, target, k->t.v[p->lo], &hint).enabled;
		for (size_t i = 0; i < p->n; i++) {
			uint64_t t = k->t.v[p->lo + i + 1];
			double now = slices_between(s, g, 0, target, t, &hint).enabled;
			bool on = now - before > p->exists[i] / 2;

			/* a slice in which nothing ran says nothing */
			if (!(p->exists[i] > 0))
				continue;
			p->cut[i] = p->cut[i] || (i && on != was);
			was = on;
			before = now;
		}
	}
}

/* Neighbours of like share stand for time in proportion to how long they were on the counters:
 * whether a slice caught one turn or two is chance, and weighing each slice by itself would put that
 * chance into the sum. Where the share changes (groups came or went) a new pool begins. */
static void pool(struct stratum *v, size_t n)
{
	size_t begin = 0;

	while (begin < n) {
		double r = 0, w = 0;
		size_t end = begin;

		while (end < n && (end - begin < POOL || n - end < POOL / 2)) {
			double share = v[end].r / v[end].w;

			if (end > begin &&
			    (v[end].cut || share > UNLIKE * r / w || share * UNLIKE < r / w))
				break;
			r += v[end].r;
			w += v[end++].w;
		}
		for (; begin < end; begin++)
			v[begin].w = v[begin].r * (w / r);
	}
}

/* Time in which the group never ran is like as much time beside it that was seen: one slice for a
 * slice, a long stretch for a long one. From stratum `at` on, forwards or backwards. */
static void spread(struct stratum *v, size_t n, size_t at, bool forward, double gap)
{
	size_t count = forward ? n - at : at + 1, end = 0;
	double r = 0, w = 0;

	while (end < count && w < gap) {
		const struct stratum *s = &v[forward ? at + end : at - end];

		r += s->r;
		w += s->pooled;
		end++;
	}
	for (size_t i = 0; i < end; i++) {
		struct stratum *s = &v[forward ? at + i : at - i];

		s->w += gap * s->r / r;
	}
}

static void spread_all(struct stratum *v, size_t n, double tail)
{
	for (size_t i = 0; i < n; i++)
		v[i].pooled = v[i].w;
	for (size_t i = 0; i < n; i++) {
		double side = i ? v[i].gap / 2 : v[i].gap;

		spread(v, n, i, true, side);
		if (i)
			spread(v, n, i - 1, false, side);
	}
	if (n)
		spread(v, n, n - 1, false, tail);
}

/* Slices of one event on one target as strata; how many. *tail: time at the end in which it never
 * ran. */
static size_t cut_strata(struct span *p, size_t event, size_t target, double *tail)
{
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo, event, target);
	size_t step = p->s->group[p->group].stride, n = 0;
	struct stratum now = { 0 }, *v = p->strata;
	double running = c[p->n * step].running - c->running, least;

	least = HARDLY * running / (double)p->n;
	for (size_t i = 0; i < p->n; i++, c += step) {
		double r = c[step].running - c->running;

		if (now.r > 0 && (now.r >= least || p->cut[i])) {
			v[n++] = now;
			now = (struct stratum){ 0 };
		}
		now.cut = now.cut || p->cut[i];
		if (!(r > 0) && !(now.r > 0)) {
			now.gap += p->exists[i];
			continue;
		}
		now.v += c[step].value - c->value;
		now.r += r;
		now.w += p->exists[i];
		now.slice = i;
	}
	*tail = now.gap;
	if (now.r > 0 && (now.r >= least || !n)) {
		v[n++] = now;
		*tail = 0;
	} else if (now.r > 0) {
		v[n - 1].v += now.v;
		v[n - 1].r += now.r;
		v[n - 1].w += now.w;
	}
	return n;
}

static size_t stratify(struct span *p, size_t event, size_t target)
{
	double tail;
	size_t n = cut_strata(p, event, target, &tail);

	pool(p->strata, n);
	spread_all(p->strata, n, tail);
	return n;
}

/* What a stratum's rate can be off is weighed by what it stands for and was not seen. */
static double unseen2(const struct stratum *s)
{
	return s->w > s->r ? s->w * (s->w - s->r) : 0;
}

static void add_strata(struct span *p, size_t m, size_t target, size_t n)
{
	const struct stratum *v = p->strata;
	double count = 0;

	for (size_t j = 0; j < n; j++) {
		count += v[j].w * v[j].v / v[j].r;
		p->sampled = p->sampled || v[j].r < ALWAYS * v[j].w;
	}
	for (size_t j = 0; j + 1 < n; j++) {
		double d = v[j + 1].v / v[j + 1].r - v[j].v / v[j].r;
		double u2 = (unseen2(&v[j]) + unseen2(&v[j + 1])) / 2;

		/* n differences would be there of a ring; there are n - 1 */
		u2 *= (double)n / (double)(n - 1);
		p->diff[v[j + 1].slice * p->n_members + m] += sqrt(u2) * d;
	}
	for (size_t j = 0; j + 2 < n; j++) {
		double d = v[j + 2].v / v[j + 2].r - v[j].v / v[j].r;
		double u2 = (unseen2(&v[j]) + unseen2(&v[j + 2])) / 2;

		u2 *= (double)n / (double)(n - 2);
		p->diff2[v[j + 2].slice * p->n_members + m] += sqrt(u2) * d;
	}
	if (n > p->most_strata)
		p->most_strata = n;
	p->count[m * p->s->n_targets + target] = count;
}

void slices_target(struct span *p, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	double exists = 0;

	slices_exists(p, target);
	for (size_t i = 0; i < p->n; i++)
		exists += p->exists[i];
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m], n;
		const struct slices_cell *a = slices_at(p->s, p->group, p->lo, event, target);
		const struct slices_cell *b = a + p->n * k->stride;

		p->count[m * p->s->n_targets + target] = NAN;
		if (!k->seen[event * p->s->n_targets + target])
			continue;
		n = stratify(p, event, target);
		p->time[m] += exists;
		p->running[m] += b->running - a->running;
		if (!m)
			p->off += exists - (b->enabled - a->enabled);
		if (n)
			add_strata(p, m, target, n);
		else if (!(exists > 0))
			p->count[m * p->s->n_targets + target] = 0;
	}
}

/* What the group's longest enabled member gained on a target; false: it, or another group, was there
 * longer than a member was on the counters. */
static bool always_on(const struct span *p, size_t target, double *exists)
{
	const struct slices_kept *k = &p->s->group[p->group];
	double least = INFINITY;

	*exists = 0;
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m];
		const struct slices_cell *a = slices_at(p->s, p->group, p->lo, event, target);
		const struct slices_cell *b = a + p->n * k->stride;

		if (!k->seen[event * p->s->n_targets + target])
			continue;
		*exists = fmax(*exists, b->enabled - a->enabled);
		least = fmin(least, b->running - a->running);
	}
	return least >= *exists && (p->ref[target] == p->group || !isfinite(least));
}

bool slices_whole(struct span *p)
{
	const struct slices_kept *k = &p->s->group[p->group];
	size_t n_targets = p->s->n_targets;
	double exists;

	for (size_t t = 0; t < n_targets; t++)
		if (!always_on(p, t, &exists))
			return false;
	for (size_t t = 0; t < n_targets; t++) {
		(void)always_on(p, t, &exists);
		for (size_t m = 0; m < p->n_members; m++) {
			size_t cell = p->member[m] * n_targets + t;
			const struct slices_cell *a =
				slices_at(p->s, p->group, p->lo, p->member[m], t);

			p->count[m * n_targets + t] = NAN;
			if (!k->seen[cell])
				continue;
			p->count[m * n_targets + t] = a[p->n * k->stride].value - a->value;
			p->time[m] += exists;
			p->running[m] += exists;
		}
	}
	for (size_t m = 0; m < p->n_own; m++)
		p->told_by[m] = p->n_members;
	return true;
}
