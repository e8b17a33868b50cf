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

/* The last reading that is no later than t; the first where there is none. */
static size_t last_before(const struct slices_kept *k, uint64_t t)
{
	size_t lo = 0, hi = k->t.n - 1;

	while (lo < hi) {
		size_t mid = hi - (hi - lo) / 2;

		if (k->t.v[mid] <= t)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

void slices_find(const struct slices_kept *k, const uint64_t *t, size_t n, struct slices_when *out)
{
	size_t at = last_before(k, t[0]);

	for (size_t i = 0; i < n; i++) {
		while (at + 1 < k->t.n && k->t.v[at + 1] <= t[i])
			at++;
		out[i].reading = at;
		out[i].f = at + 1 >= k->t.n || k->t.v[at] >= t[i]
				   ? 0
				   : (double)(t[i] - k->t.v[at]) /
					     (double)(k->t.v[at + 1] - k->t.v[at]);
	}
}

struct slices_cell slices_then(const struct slices *s, size_t group, size_t event, size_t target,
			       const struct slices_when *w)
{
	const struct slices_cell *a = slices_at(s, group, w->reading, event, target), *b;
	struct slices_cell c;

	if (!(w->f > 0))
		return *a;
	b = a + s->group[group].stride;
	c.value = a->value + w->f * (b->value - a->value);
	c.enabled = a->enabled + w->f * (b->enabled - a->enabled);
	c.running = a->running + w->f * (b->running - a->running);
	return c;
}

static double above_0(double v)
{
	return v > 0 ? v : 0;
}

/* Members of which the times differ on this target; how many. */
static size_t find_leads(struct span *p, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	uint32_t last = UINT32_MAX;
	size_t n = 0;

	for (size_t m = 0; m < p->n_members; m++) {
		uint32_t same = k->same[p->member[m] * p->s->n_targets + target];

		if (same == last)
			continue;
		last = same;
		p->lead[n++] = p->member[m];
	}
	return n;
}

/* How long the target ran in a slice: what the reference says, or more if this group was enabled
 * longer. Groups are read one after the other: this one's slice can end later than the reference's
 * (by `late` in all), which the next slice makes up for; so it is the sums that are compared. */
static double ran(double own, double ref, double *late)
{
	double before = above_0(*late);

	if (own < ref / 2 || ref < own / 2) /* one of them was switched off */
		return own > ref ? own : ref;
	*late += own - ref;
	return ref + above_0(*late) - before;
}

/* The longest that a member was enabled in a slice. */
static double enabled_most(const struct span *p, size_t n_leads, size_t target, size_t slice)
{
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo + slice, 0, target);
	size_t step = p->s->group[p->group].stride, n_targets = p->s->n_targets;
	double own = 0;

	for (size_t m = 0; m < n_leads; m++) {
		const struct slices_cell *at = &c[p->lead[m] * n_targets];
		double d = at[step].enabled - at->enabled;

		own = d > own ? d : own;
	}
	return own;
}

/* How long the target ran in each slice. The reference's longest enabled event stands for it. */
static void find_exists(struct span *p, size_t target)
{
	const struct slices *s = p->s;
	const size_t ref = p->ref[target], n_leads = find_leads(p, target);
	const struct slices_kept *r = &s->group[ref];
	double before, late = 0, *exists = &p->exists[target * p->n];
	size_t event = 0;

	for (size_t e = 1; e < r->n; e++)
		if (r->same[e * s->n_targets + target] == e &&
		    slices_at(s, ref, r->t.n - 1, e, target)->enabled >
			    slices_at(s, ref, r->t.n - 1, event, target)->enabled)
			event = e;
	before = slices_enabled(s, ref, event, target, slices_when(p, ref, 0));
	for (size_t i = 0; i < p->n; i++) {
		double now = slices_enabled(s, ref, event, target, slices_when(p, ref, i + 1));

		exists[i] = ran(enabled_most(p, n_leads, target, i), now - before, &late);
		before = now;
	}
}

/* Where groups were switched on or off, so that the share of the others changes. They are switched
 * on all targets at once: one is looked at. */
static void find_cuts(struct span *p)
{
	const struct slices *s = p->s;
	const double *exists;
	size_t target = 0;

	for (size_t t = 1; t < s->n_targets; t++)
		if (p->total[t] > p->total[target])
			target = t;
	exists = &p->exists[target * p->n];
	for (size_t g = 0; g < s->n_groups; g++) {
		bool was = false;
		double before;

		if (!s->group[g].n)
			continue;
		before = slices_enabled(s, g, 0, target, slices_when(p, g, 0));
		for (size_t i = 0; i < p->n; i++) {
			double now = slices_enabled(s, g, 0, target, slices_when(p, g, i + 1));
			bool on = now - before > exists[i] / 2;

			/* a slice in which nothing ran says nothing */
			if (!(exists[i] > 0))
				continue;
			p->cut[i] = p->cut[i] || (i && on != was);
			was = on;
			before = now;
		}
	}
}

/* Neighbours of like share stand for time in proportion to how long they were on the counters:
 * whether a slice caught one turn or two is chance, and weighing each slice by itself would put
 * that chance into the sum. Where the share changes (groups came or went) a new pool begins. */
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

/* Slices of one event on one target as strata. */
static void cut_strata(struct span *p, size_t event, size_t target)
{
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo, event, target);
	size_t step = p->s->group[p->group].stride, n = 0;
	struct stratum now = { 0 }, *v = p->strata;
	const double *exists = &p->exists[target * p->n];
	double running = c[p->n * step].running - c->running, least;

	least = HARDLY * running / (double)p->n;
	p->rest_begin = SIZE_MAX;
	for (size_t i = 0; i < p->n; i++, c += step) {
		double r = c[step].running - c->running;

		if (now.r > 0 && (now.r >= least || p->cut[i])) {
			v[n++] = now;
			now = (struct stratum){ 0 };
		}
		now.cut = now.cut || p->cut[i];
		if (!(r > 0) && !(now.r > 0)) {
			now.gap += exists[i];
			continue;
		}
		if (!(now.r > 0))
			now.begin = i;
		now.r += r;
		now.w += exists[i];
		now.end = i;
	}
	p->tail = now.gap;
	if (now.r > 0 && (now.r >= least || !n)) {
		v[n++] = now;
		p->tail = 0;
	} else if (now.r > 0) {
		v[n - 1].r += now.r;
		v[n - 1].w += now.w;
		p->rest_begin = now.begin;
		p->rest_end = now.end;
	}
	p->n_strata = n;
}

/* What a stratum's rate can be off is weighed by what it stands for and was not seen. */
static double unseen2(const struct stratum *s)
{
	return s->w > s->r ? s->w * (s->w - s->r) : 0;
}

/* What the difference of two strata weighs, of so many differences. n of them would be there of a
 * ring: there are fewer. */
static double weight(const struct stratum *a, const struct stratum *b, size_t n, size_t fewer)
{
	double u2 = (unseen2(a) + unseen2(b)) / 2;

	u2 *= (double)n / (double)fewer;
	return sqrt(u2);
}

/* All that follows from times alone, for events that share them. */
static void stratify(struct span *p, size_t event, size_t target)
{
	struct stratum *v = p->strata;
	size_t n;

	cut_strata(p, event, target);
	n = p->n_strata;
	pool(v, n);
	spread_all(v, n, p->tail);
	for (size_t j = 0; j < n; j++)
		p->sampled = p->sampled || v[j].r < ALWAYS * v[j].w;
	if (n > p->most_strata)
		p->most_strata = n;
	for (size_t j = 0; p->diff && j + 1 < n; j++)
		v[j].near_ = weight(&v[j], &v[j + 1], n, n - 1);
	for (size_t j = 0; p->diff2 && j + 2 < n; j++)
		v[j].next = weight(&v[j], &v[j + 2], n, n - 2);
}

static double counted_in(const struct slices_cell *c, size_t step, size_t begin, size_t end)
{
	double v = 0;

	c += begin * step;
	for (size_t i = begin; i <= end; i++, c += step)
		v += c[step].value - c->value;
	return v;
}

static void add_strata(struct span *p, size_t m, size_t target)
{
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo, p->member[m], target);
	size_t step = p->s->group[p->group].stride, n = p->n_strata;
	const struct stratum *v = p->strata;
	double count = 0, *rate = p->rate, *to;

	for (size_t j = 0; j < n; j++) {
		double in = counted_in(c, step, v[j].begin, v[j].end);

		if (j + 1 == n && p->rest_begin != SIZE_MAX)
			in += counted_in(c, step, p->rest_begin, p->rest_end);
		count += v[j].w * in / v[j].r;
		rate[j] = in / v[j].r;
	}
	to = p->diff ? p->diff + m : NULL;
	for (size_t j = 0; to && j + 1 < n; j++)
		to[v[j + 1].end * p->n_members] += v[j].near_ * (rate[j + 1] - rate[j]);
	to = p->diff2 ? p->diff2 + m : NULL;
	for (size_t j = 0; to && j + 2 < n; j++)
		to[v[j + 2].end * p->n_members] += v[j].next * (rate[j + 2] - rate[j]);
	p->count[m * p->s->n_targets + target] = count;
}

static void add_target(struct span *p, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	uint32_t shape = UINT32_MAX; /* whose strata are at hand */
	double exists = 0;

	for (size_t i = 0; i < p->n; i++)
		exists += p->exists[target * p->n + i];
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m], cell = event * p->s->n_targets + target;
		const struct slices_cell *a = slices_at(p->s, p->group, p->lo, event, target);
		const struct slices_cell *b = a + p->n * k->stride;

		p->count[m * p->s->n_targets + target] = NAN;
		if (!k->seen[cell])
			continue;
		if (k->same[cell] != shape)
			stratify(p, event, target);
		shape = k->same[cell];
		p->time[m] += exists;
		p->running[m] += b->running - a->running;
		if (!m)
			p->off += exists - (b->enabled - a->enabled);
		if (p->n_strata)
			add_strata(p, m, target);
		else if (!(exists > 0))
			p->count[m * p->s->n_targets + target] = 0;
	}
}

void slices_strata(struct span *p)
{
	const struct slices_kept *k = &p->s->group[p->group];

	for (size_t g = 0; g < p->s->n_groups; g++)
		slices_find(&p->s->group[g], &k->t.v[p->lo], p->n + 1, &p->when[g * (p->n + 1)]);
	for (size_t t = 0; t < p->s->n_targets; t++)
		find_exists(p, t);
	if (p->s->n_targets)
		find_cuts(p);
	for (size_t t = 0; t < p->s->n_targets; t++)
		add_target(p, t);
}

/* What the group's longest enabled member gained on a target; false: it, or another group, was
 * there longer than a member was on the counters. */
static bool always_on(const struct span *p, size_t target, double *exists)
{
	const struct slices_kept *k = &p->s->group[p->group];
	double least = INFINITY;
	uint32_t last = UINT32_MAX;

	*exists = 0;
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m], cell = event * p->s->n_targets + target;
		const struct slices_cell *a = slices_at(p->s, p->group, p->lo, event, target);
		const struct slices_cell *b = a + p->n * k->stride;

		if (!k->seen[cell] || k->same[cell] == last)
			continue;
		last = k->same[cell];
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
