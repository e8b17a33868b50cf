/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slices of one event on one target as strata: v counted in r of the time, for which the stratum
 * stands for w. Slices in which it hardly ran are put to the next; time in which it did not run at
 * all is given to as much time on both sides. The whole is the sum of w * v / r.
 */
#include <math.h>
#include <string.h>

#include "model/slices/slices_int.h"

#define HARDLY	    0.5 /* of the mean time on the counters in a slice: less is put to the next */
#define POOL	    8	/* slices */
#define ALIKE	    0.9 /* of the time */
#define UNLIKE	    2.5 /* times the share on the counters */
#define VISIT_LEAST 200000.0 /* ns on the counters: shorter visits are ignored */
#define ALWAYS	    0.9999   /* of the time on the counters is all of it */

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

size_t slices_last_before(const struct slices_kept *k, uint64_t t)
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
	size_t at = slices_last_before(k, t[0]);

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

bool slices_gained(const struct slices *s, size_t group, uint64_t from, uint64_t to)
{
	const struct slices_kept *k = &s->group[group];
	size_t lo = slices_last_before(k, from), hi = slices_last_before(k, to);

	hi += hi + 1 < k->t.n;
	return k->stride && memcmp(slices_at(s, group, lo, 0, 0), slices_at(s, group, hi, 0, 0),
				   k->stride * sizeof(struct slices_cell)) != 0;
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

/* How long the target ran in a slice: by the reference, or more if this group was enabled longer.
 * Groups are read one after the other: this one's slice can end later than the reference's (by
 * `late` in all; much later on a busy machine), which the next slice makes up for; so it is the
 * sums that are compared. `off`: one of them was switched off in it. */
static double ran(double own, double ref, bool off, double *late)
{
	double before = above_0(*late);

	if (off) {
		*late = above_0(own - ref);
		return ref + *late;
	}
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

/* A group that was enabled as long as the reference was never switched, however its slices end. */
static bool is_always_on(const struct span *p, size_t n_leads, size_t target)
{
	double own = 0, total = p->total[target];

	for (size_t i = 0; i < p->n; i++)
		own += enabled_most(p, n_leads, target, i);
	return own > ALIKE * total && total > ALIKE * own;
}

/* One of the two was switched off in a slice, or for a part of it. */
static bool was_off(const struct span *p, size_t i, double own, double ref, bool always)
{
	const struct slices_kept *k = &p->s->group[p->group];

	if (always)
		return false;
	if (!k->state.n) /* only the times are known */
		return own < ref / 2 || ref < own / 2;
	return slices_state_of(k, p->lo + i) == SLICES_OFF || !(p->lo + i) ||
	       slices_state_of(k, p->lo + i - 1) == SLICES_OFF;
}

/* How long the target ran in each slice. The reference's longest enabled event stands for it. */
static void find_exists(struct span *p, size_t target)
{
	const struct slices *s = p->s;
	const size_t ref = p->ref[target], n_leads = find_leads(p, target);
	const struct slices_kept *r = &s->group[ref];
	double before, late = 0, *exists = &p->exists[target * p->n];
	bool always = is_always_on(p, n_leads, target);
	size_t event = 0;

	for (size_t e = 1; e < r->n; e++)
		if (r->same[e * s->n_targets + target] == e &&
		    slices_at(s, ref, r->t.n - 1, e, target)->enabled >
			    slices_at(s, ref, r->t.n - 1, event, target)->enabled)
			event = e;
	before = slices_enabled(s, ref, event, target, slices_when(p, ref, 0));
	for (size_t i = 0; i < p->n; i++) {
		double now = slices_enabled(s, ref, event, target, slices_when(p, ref, i + 1)), own;
		bool off;

		own = enabled_most(p, n_leads, target, i);
		off = was_off(p, i, own, now - before, always);
		exists[i] = ran(own, now - before, off, &late);
		before = now;
	}
}

/* Where the slices' ends stand among another group's readings. */
static void find_when(struct span *p, size_t group)
{
	const uint64_t *t = &p->s->group[p->group].t.v[p->lo];

	slices_find(&p->s->group[group], t, p->n + 1, &p->when[group * (p->n + 1)]);
}

/* When groups were switched on or off, so that the share of the others changes. They are switched
 * on all targets at once: one is looked at. */
static void find_cuts(struct span *p)
{
	const struct slices *s = p->s;
	const uint64_t *ends = &s->group[p->group].t.v[p->lo];
	const double *exists;
	size_t target = 0;

	for (size_t t = 1; t < s->n_targets; t++)
		if (p->total[t] > p->total[target])
			target = t;
	exists = &p->exists[target * p->n];
	for (size_t g = 0; g < s->n_groups; g++) {
		bool was = false;
		double before;

		/* most are off all the time: closed stages */
		if (!slices_gained(s, g, ends[0], ends[p->n]))
			continue;
		find_when(p, g);
		before = slices_enabled(s, g, 0, target, slices_when(p, g, 0));
		for (size_t i = 0; i < p->n; i++) {
			double now = slices_enabled(s, g, 0, target, slices_when(p, g, i + 1));
			bool on = now - before > exists[i] / 2;

			/* a slice in which nothing ran has no rate */
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
 * that chance into the sum. When the share changes (groups came or went) a new pool begins. */
static void pool(struct stratum *v, size_t n)
{
	size_t begin = 0;

	while (begin < n) {
		double r = 0, w = 0;
		size_t end = begin;

		while (end < n && (end - begin < POOL || n - end < POOL / 2)) {
			double share = v[end].r / v[end].w;

			if (end > begin && (v[end].cut || v[end].visit || v[begin].visit ||
					    share > UNLIKE * r / w || share * UNLIKE < r / w))
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
static void strata_spread(struct stratum *v, size_t n, size_t at, bool forward, double gap)
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

		strata_spread(v, n, i, true, side);
		if (i)
			strata_spread(v, n, i - 1, false, side);
	}
	if (n)
		strata_spread(v, n, n - 1, false, tail);
}

/* Half of the group's time in an average slice in which it was on. */
static double hardly(const struct span *p, const struct slices_cell *c)
{
	const struct slices_kept *k = &p->s->group[p->group];
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += slices_state_of(k, p->lo + i) != SLICES_OFF;
	return n ? HARDLY * (c[p->n * k->stride].running - c->running) / (double)n : 0;
}

/* A slice that is not looked at, or in which the group was off, ends a stratum; true for those. */
static bool leave_strata_out(const struct span *p, size_t i, double exists, struct stratum *now)
{
	bool out = p->in && !p->in[i];

	if (!out && slices_state_of(&p->s->group[p->group], p->lo + i) != SLICES_OFF)
		return false;
	now->cut = true;
	now->off += out ? 0 : exists;
	return true;
}

/* A stratum ends. A visit that was hardly on a counter is taken as time off. */
static size_t push(struct stratum *v, size_t n, struct stratum *now)
{
	double off = now->visit && now->r < VISIT_LEAST ? now->off + now->w : 0;

	if (!(off > 0))
		v[n++] = *now;
	*now = (struct stratum){ .off = off, .cut = off > 0 };
	return n;
}

/* The last one; if it hardly ran, it is put to the one before. */
static size_t push_last(struct span *p, size_t n, struct stratum *now, double least)
{
	struct stratum *v = p->strata, *last = n ? &v[n - 1] : NULL;

	if (now->r > 0 && (now->visit || now->r >= least || !last || last->visit)) {
		n = push(v, n, now);
	} else if (now->r > 0) {
		last->r += now->r;
		last->w += now->w;
		p->rest_begin = now->begin;
		p->rest_end = now->end;
	}
	p->tail = now->gap;
	p->tail_off = now->off;
	return n;
}

/* Slices of one event on one target as strata. */
static void cut_strata(struct span *p, size_t event, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	const struct slices_cell *c = slices_at(p->s, p->group, p->lo, event, target);
	size_t step = k->stride, n = 0;
	struct stratum now = { 0 };
	const double *exists = &p->exists[target * p->n];
	double least = hardly(p, c);

	p->rest_begin = SIZE_MAX;
	for (size_t i = 0; i < p->n; i++, c += step) {
		enum slices_state state = slices_state_of(k, p->lo + i);
		bool visit = state == SLICES_VISIT, out = p->in && !p->in[i];
		double r = c[step].running - c->running;

		if (now.r > 0 && (now.r >= least || p->cut[i] || out || state == SLICES_OFF ||
				  now.visit != visit))
			n = push(p->strata, n, &now);
		now.cut = now.cut || p->cut[i];
		if (leave_strata_out(p, i, exists[i], &now))
			continue;
		if (!(r > 0) && !(now.r > 0)) {
			*(visit ? &now.off : &now.gap) += exists[i];
			continue;
		}
		if (!(now.r > 0))
			now.begin = i;
		now.visit = visit;
		now.r += r;
		now.w += exists[i];
		now.end = i;
	}
	p->n_strata = push_last(p, n, &now, least);
}

/* The error of a stratum's rate is weighed by the time that it stands for and that was not seen. */
static double unseen2(const struct stratum *s)
{
	return s->w > s->r ? s->w * (s->w - s->r) : 0;
}

/* Weight of the difference of two strata. A ring of n strata would have n differences: there are
 * `fewer`. */
static double weight(const struct stratum *a, const struct stratum *b, size_t n, size_t fewer)
{
	double u2 = (unseen2(a) + unseen2(b)) / 2;

	u2 *= (double)n / (double)fewer;
	return sqrt(u2);
}

/* Each visit stands for half of the time off to the one before and to the next. Without one, that
 * time is like its neighbours. */
static void give_off(struct span *p)
{
	struct stratum *v = p->strata;
	size_t last = SIZE_MAX, visits = 0;
	double off = 0;

	for (size_t j = 0; j < p->n_strata; j++) {
		off += v[j].off;
		if (!v[j].visit)
			continue;
		visits++;
		v[j].w += last == SIZE_MAX ? off : off / 2;
		if (last != SIZE_MAX)
			v[last].w += off / 2;
		off = 0;
		last = j;
	}
	p->visits = visits > p->visits ? visits : p->visits;
	if (last != SIZE_MAX) {
		v[last].w += off + p->tail_off;
		return;
	}
	for (size_t j = 0; j < p->n_strata; j++)
		v[j].gap += v[j].off;
	p->tail += p->tail_off;
}

/* A single visit has no other visit to differ from: its error comes from the strata beside it. */
static void join_lone_visit(struct stratum *v, size_t n)
{
	size_t visits = 0, at = 0;

	for (size_t j = 0; j < n; j++)
		if (v[j].visit) {
			visits++;
			at = j;
		}
	if (visits == 1)
		v[at].visit = false;
}

/* Who follows whom, of strata of a kind; how many there are of it. */
static size_t link_strata(struct stratum *v, size_t n, bool visit)
{
	size_t last = SIZE_MAX, count = 0;

	for (size_t j = 0; j < n; j++) {
		if (v[j].visit != visit)
			continue;
		v[j].follow = SIZE_MAX;
		if (last != SIZE_MAX)
			v[last].follow = j;
		last = j;
		count++;
	}
	return count;
}

static void weigh_strata(const struct span *p, struct stratum *v, size_t n, bool visit)
{
	size_t count = link_strata(v, n, visit);

	for (size_t j = 0; j < n; j++) {
		size_t next = v[j].follow, after = next == SIZE_MAX ? next : v[next].follow;

		if (v[j].visit != visit)
			continue;
		if (next != SIZE_MAX)
			v[j].near_ = weight(&v[j], &v[next], count, count - 1);
		if (after != SIZE_MAX && p->diff2)
			v[j].next = weight(&v[j], &v[after], count, count - 2);
	}
}

/* All that follows from times alone, for events that share them. */
static void stratify(struct span *p, size_t event, size_t target)
{
	struct stratum *v = p->strata;
	size_t n;

	cut_strata(p, event, target);
	n = p->n_strata;
	pool(v, n);
	give_off(p);
	spread_all(v, n, p->tail);
	for (size_t j = 0; j < n; j++)
		p->sampled = p->sampled || v[j].r < ALWAYS * v[j].w;
	if (n > p->most_strata)
		p->most_strata = n;
	if (p->diff) {
		join_lone_visit(v, n);
		weigh_strata(p, v, n, false);
		weigh_strata(p, v, n, true);
	}
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
	for (size_t j = 0, next; to && j < n; j++)
		if ((next = v[j].follow) != SIZE_MAX)
			to[v[next].end * p->n_members] += v[j].near_ * (rate[next] - rate[j]);
	to = p->diff2 ? p->diff2 + m : NULL;
	for (size_t j = 0; to && j < n; j++) {
		size_t next = v[j].follow == SIZE_MAX ? SIZE_MAX : v[v[j].follow].follow;

		if (next != SIZE_MAX)
			to[v[next].end * p->n_members] += v[j].next * (rate[next] - rate[j]);
	}
	p->count[m * p->s->n_targets + target] = count;
}

/* Growth of a cell over the span's slices. */
static double in_span(const struct span *p, size_t event, size_t target, size_t field_offset)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->in || p->in[i])
			sum += slices_own(p, event, target, i, field_offset);
	return sum;
}

static void add_target(struct span *p, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	uint32_t shape = UINT32_MAX; /* whose strata are at hand */
	double exists = 0;

	for (size_t i = 0; i < p->n; i++)
		exists += p->in && !p->in[i] ? 0 : p->exists[target * p->n + i];
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m], cell = event * p->s->n_targets + target;

		p->count[m * p->s->n_targets + target] = NAN;
		if (!k->seen[cell])
			continue;
		if (k->same[cell] != shape)
			stratify(p, event, target);
		shape = k->same[cell];
		p->time[m] += exists;
		p->running[m] += in_span(p, event, target, offsetof(struct slices_cell, running));
		if (!m)
			p->off += exists -
				  in_span(p, event, target, offsetof(struct slices_cell, enabled));
		if (p->n_strata)
			add_strata(p, m, target);
		else if (!(exists > 0))
			p->count[m * p->s->n_targets + target] = 0;
	}
}

void slices_strata(struct span *p)
{
	/* of others, if they are needed */
	find_when(p, p->s->n_groups - 1);
	for (size_t t = 0; t < p->s->n_targets; t++) {
		if (!t || p->ref[t] != p->ref[t - 1])
			find_when(p, p->ref[t]);
		find_exists(p, t);
	}
	if (p->s->n_targets)
		find_cuts(p);
	for (size_t t = 0; t < p->s->n_targets; t++)
		add_target(p, t);
}

/* Enabled time of the group's longest member on a target; false: it, or another group, was there
 * longer than a member was on the counters. */
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

	if (p->in)
		return false;
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
