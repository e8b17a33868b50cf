/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole out of slices, and how far it can be off.
 *
 * Of one event on one target, slices in which it ran become strata: v counted in r of the time, for
 * which the stratum stands for w. Slices in which it hardly ran are put to the next; time in which it
 * did not run at all is given to as much time on both sides. The whole is the sum of w * v / r.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/slices_int.h"

#define Z95	    1.959964
#define HARDLY	    0.5 /* of the mean time on the counters in a slice: less is put to the next */
#define POOL	    8	/* slices */
#define UNLIKE	    2.5 /* times the share on the counters */
#define ALWAYS	    0.9999 /* of the time on the counters is all of it */
#define OFF_MATTERS 0.01   /* of the time that the group was switched off */

struct stratum {
	double v, r, w;
	double pooled; /* w before gaps are spread */
	double gap;    /* time before it in which the group never ran */
	size_t slice;  /* its last */
	bool cut;      /* groups came or went before it */
};

/* One group between two of its readings. */
struct span {
	const struct slices *s;
	size_t group, lo, n;	/* first reading, slices */
	const uint32_t *member; /* events of the group that are counted here: positions in it */
	size_t n_members;
	const uint32_t *ref;	/* by target: the group that tells how long the target ran */
	const double *total;	/* by target: how long that was in all */
	bool *cut;		/* by slice: other groups are on than in the one before */
	double *exists;		/* by slice: how long the target at hand ran, ns */
	struct stratum *strata; /* scratch, by slice */
	double *diff;		/* [slice * n_members + member]: differences of neighbours */
	double *count;		/* [member * n_targets + target] */
	double *cov;		/* [n_members * n_members] */
	double *running, *time; /* by member, sums over targets */
	double off;		/* time switched off, ns; of the first member */
	size_t most_strata;	/* of any target */
	bool sampled;		/* not always on the counters */
};

static size_t nearest(const struct slices_kept *k, uint64_t t)
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
static struct slices_cell between(const struct slices *s, size_t group, size_t event, size_t target,
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

/* Of each target, the group that was enabled longest says how long there was something to count. */
static void find_refs(const struct slices *s, uint64_t from, uint64_t to, uint32_t *ref,
		      double *total)
{
	for (size_t target = 0; target < s->n_targets; target++) {
		double most = -1;

		ref[target] = 0;
		for (size_t g = 0; g < s->n_groups; g++) {
			const struct slices_kept *k = &s->group[g];
			size_t lo = nearest(k, from), hi = nearest(k, to);

			for (size_t e = 0; e < k->n; e++) {
				double d = slices_at(s, g, hi, e, target)->enabled -
					   slices_at(s, g, lo, e, target)->enabled;

				if (d > most) {
					most = total[target] = d;
					ref[target] = (uint32_t)g;
				}
			}
		}
	}
}

static double own(const struct span *p, size_t event, size_t target, size_t slice,
		  size_t field_offset)
{
	const struct slices_cell *a = slices_at(p->s, p->group, p->lo + slice, event, target);
	const struct slices_cell *b = slices_at(p->s, p->group, p->lo + slice + 1, event, target);
	double va, vb;

	memcpy(&va, (const char *)a + field_offset, sizeof(va));
	memcpy(&vb, (const char *)b + field_offset, sizeof(vb));
	return vb - va;
}

#define OWN(p, event, target, slice, field) \
	own(p, event, target, slice, offsetof(struct slices_cell, field))

/* How long the target ran in each slice. The reference's longest enabled event stands for it. */
static void fill_exists(struct span *p, size_t target)
{
	const struct slices *s = p->s;
	const struct slices_kept *k = &s->group[p->group], *r = &s->group[p->ref[target]];
	size_t hint = 0, event = 0;
	double before;

	for (size_t e = 1; e < r->n; e++)
		if (slices_at(s, p->ref[target], r->t.n - 1, e, target)->enabled >
		    slices_at(s, p->ref[target], r->t.n - 1, event, target)->enabled)
			event = e;
	before = between(s, p->ref[target], event, target, k->t.v[p->lo], &hint).enabled;
	for (size_t i = 0; i < p->n; i++) {
		uint64_t t = k->t.v[p->lo + i + 1];
		double now = between(s, p->ref[target], event, target, t, &hint).enabled;

		p->exists[i] = now - before;
		before = now;
		for (size_t m = 0; m < p->n_members; m++) {
			double d = OWN(p, p->member[m], target, i, enabled);

			if (d > p->exists[i])
				p->exists[i] = d;
		}
	}
}

/* Where groups were switched on or off, so that the share of the others changes. They are switched
 * on all targets at once: one is looked at. */
static void find_cuts(struct span *p)
{
	const struct slices *s = p->s;
	const struct slices_kept *k = &s->group[p->group];
	size_t target = 0;

	for (size_t t = 1; t < s->n_targets; t++)
		if (p->total[t] > p->total[target])
			target = t;
	fill_exists(p, target);
	for (size_t g = 0; g < s->n_groups; g++) {
		size_t hint = 0;
		bool was = false;
		double before;

		if (!s->group[g].n)
			continue;
		before = between(s, g, 0, target, k->t.v[p->lo], &hint).enabled;
		for (size_t i = 0; i < p->n; i++) {
			uint64_t t = k->t.v[p->lo + i + 1];
			double now = between(s, g, 0, target, t, &hint).enabled;
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
	struct stratum now = { 0 }, *v = p->strata;
	double running = 0, least;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		running += OWN(p, event, target, i, running);
	least = HARDLY * running / (double)p->n;
	for (size_t i = 0; i < p->n; i++) {
		double r = OWN(p, event, target, i, running);

		if (now.r > 0 && (now.r >= least || p->cut[i])) {
			v[n++] = now;
			now = (struct stratum){ 0 };
		}
		now.cut = now.cut || p->cut[i];
		if (!(r > 0) && !(now.r > 0)) {
			now.gap += p->exists[i];
			continue;
		}
		now.v += OWN(p, event, target, i, value);
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

	for (size_t i = 0; i < n; i++)
		if (p->strata[i].w < p->strata[i].r)
			p->strata[i].w = p->strata[i].r;
	pool(p->strata, n);
	spread_all(p->strata, n, tail);
	return n;
}

/* What a stratum's rate can be off is weighed by what it stands for and was not seen. */
static double unseen2(const struct stratum *s)
{
	return s->w * (s->w - s->r);
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
	if (n > p->most_strata)
		p->most_strata = n;
	p->count[m * p->s->n_targets + target] = count;
}

static void add_target(struct span *p, size_t target)
{
	const struct slices_kept *k = &p->s->group[p->group];
	double exists = 0;

	fill_exists(p, target);
	for (size_t i = 0; i < p->n; i++)
		exists += p->exists[i];
	for (size_t m = 0; m < p->n_members; m++) {
		size_t event = p->member[m], n;

		p->count[m * p->s->n_targets + target] = NAN;
		if (!k->seen[event * p->s->n_targets + target])
			continue;
		n = stratify(p, event, target);
		p->time[m] += exists;
		for (size_t i = 0; i < p->n; i++)
			p->running[m] += OWN(p, event, target, i, running);
		for (size_t i = 0; i < p->n && !m; i++)
			p->off += p->exists[i] - OWN(p, event, target, i, enabled);
		if (n)
			add_strata(p, m, target, n);
		else if (!(exists > 0))
			p->count[m * p->s->n_targets + target] = 0;
	}
}

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
		fill_exists(p, t);
		for (size_t i = 0; i < p->n; i++)
			exists += p->exists[i];
		p->count[m * n_targets + t] = exists * mean;
		*extra += exists * exists * (var > 0 ? var : 0);
		p->sampled = true;
	}
}

/* By how much what always counted differs between the time that this group was on and off: the mean
 * square of relative changes of its rates. */
static double change_while_off(struct span *p)
{
	const struct slices *s = p->s;
	const struct slices_kept *k = &s->group[p->group];
	double sum = 0;
	size_t n = 0, ref = p->ref[0];

	if (ref == p->group)
		return 0;
	for (size_t e = 0; e < s->group[ref].n; e++) {
		double v[2] = { 0, 0 }, r[2] = { 0, 0 }, change;

		for (size_t t = 0; t < s->n_targets; t++) {
			size_t hint = 0;
			struct slices_cell a = between(s, ref, e, t, k->t.v[p->lo], &hint), b;

			for (size_t i = 0; i < p->n; i++, a = b) {
				bool on;

				b = between(s, ref, e, t, k->t.v[p->lo + i + 1], &hint);
				on = OWN(p, p->member[0], t, i, enabled) >
				     (b.enabled - a.enabled) / 2;
				v[on] += b.value - a.value;
				r[on] += b.running - a.running;
			}
		}
		if (!(r[0] > 0) || !(r[1] > 0) || !(v[1] > 0))
			continue;
		change = v[0] / r[0] / (v[1] / r[1]) - 1;
		sum += change * change;
		n++;
	}
	return n ? sum / (double)n : 1;
}

/* Squared: Student's 97.5 % point for so many degrees of freedom, over that of many. */
static double student2(double df)
{
	const double z = Z95, z3 = z * z * z, z5 = z3 * z * z;
	double t = z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df);

	return t * t / (z * z);
}

static void fill_cov(struct span *p)
{
	size_t n = p->n_members;
	double factor = student2(p->most_strata > 1 ? (double)(p->most_strata - 1) : 1) / 2;

	for (size_t i = 0; i < p->n; i++)
		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; b < n; b++)
				p->cov[a * n + b] +=
					factor * p->diff[i * n + a] * p->diff[i * n + b];
}

static void fill_extra(struct span *p)
{
	size_t n = p->n_members, targets = p->s->n_targets;
	double off = p->time[0] > 0 ? p->off / p->time[0] : 0;
	double change = off > OFF_MATTERS ? change_while_off(p) : 0;

	for (size_t m = 0; m < n; m++) {
		double sum = 0, extra = 0;

		fill_unseen(p, m, &extra);
		for (size_t t = 0; t < targets; t++)
			if (!isnan(p->count[m * targets + t]))
				sum += p->count[m * targets + t];
		p->cov[m * n + m] += extra + change * off * off * sum * sum;
	}
}

static int span_run(struct span *p, struct arena *scratch, struct err *err)
{
	size_t n = p->n_members, targets = p->s->n_targets;

	p->cut = arena_alloc(scratch, p->n + 1);
	p->exists = arena_alloc(scratch, (p->n + 1) * sizeof(double));
	p->strata = arena_alloc(scratch, (p->n + 1) * sizeof(*p->strata));
	p->diff = arena_alloc(scratch, (p->n * n + 1) * sizeof(double));
	p->count = arena_alloc(scratch, (n * targets + 1) * sizeof(double));
	p->running = arena_alloc(scratch, (n + 1) * sizeof(double));
	p->time = arena_alloc(scratch, (n + 1) * sizeof(double));
	if (!p->cut || !p->exists || !p->strata || !p->diff || !p->count || !p->running || !p->time)
		return err_nomem(err);
	if (targets)
		find_cuts(p);
	for (size_t t = 0; t < targets; t++)
		add_target(p, t);
	fill_cov(p);
	fill_extra(p);
	return 0;
}

struct result {
	double *count, *counted, *quantum;
	uint32_t *member, *first;
	const double **cov;
	const char **no_error;
	uint32_t n_members;
};

static void give(const struct span *p, struct result *r, struct arena *a, size_t g)
{
	const struct slices_kept *k = &p->s->group[g];
	size_t targets = p->s->n_targets;
	double slots = 0;

	for (size_t m = 0; m < p->n_members; m++) {
		uint32_t event = k->event[p->member[m]];

		memcpy(&r->count[event * targets], &p->count[m * targets],
		       targets * sizeof(double));
		r->counted[event] = p->time[m] > 0 ? p->running[m] / p->time[m] : 0;
		if (r->counted[event] > 1)
			r->counted[event] = 1;
		for (size_t t = 0; t < targets && !p->member[m]; t++)
			if (!isnan(p->count[m * targets + t]))
				slots += p->count[m * targets + t];
		if (k->stepped && k->stepped[p->member[m]])
			r->quantum[event] = slots / 255 / 2;
	}
	r->cov[g] = NULL;
	if (!p->sampled)
		return;
	if (p->most_strata >= SLICES_FEWEST)
		r->cov[g] = p->cov;
	else
		r->no_error[g] =
			p->most_strata
				? arena_printf(a, "on the counters in %zu slices of time only",
					       p->most_strata)
				: "never on the counters";
}

/* The group that saw most of each event, where several have it. */
static int find_homes(const struct slices *s, uint64_t from, uint64_t to, uint32_t *home,
		      struct arena *scratch, struct err *err)
{
	double *most = arena_alloc(scratch, (s->n_events + 1) * sizeof(*most));

	if (!most)
		return err_nomem(err);
	for (size_t e = 0; e < s->n_events; e++)
		home[e] = UINT32_MAX;
	for (uint32_t g = 0; g < s->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];
		size_t lo = nearest(k, from), hi = nearest(k, to);

		for (size_t e = 0; e < k->n; e++) {
			double running = 0;

			for (size_t t = 0; t < s->n_targets; t++)
				running += slices_at(s, g, hi, e, t)->running -
					   slices_at(s, g, lo, e, t)->running;
			if (home[k->event[e]] != UINT32_MAX && running <= most[k->event[e]])
				continue;
			home[k->event[e]] = g;
			most[k->event[e]] = running;
		}
	}
	return 0;
}

static int result_new(const struct slices *s, struct result *r, struct arena *a, struct err *err)
{
	size_t events = s->n_events + 1, groups = s->n_groups + 1, cells = events * s->n_targets;

	r->count = arena_alloc(a, (cells + 1) * sizeof(double));
	r->counted = arena_alloc(a, events * sizeof(double));
	r->quantum = arena_alloc(a, events * sizeof(double));
	r->member = arena_alloc(a, events * sizeof(*r->member));
	r->first = arena_alloc(a, groups * sizeof(*r->first));
	r->cov = arena_alloc(a, groups * sizeof(*r->cov));
	r->no_error = arena_alloc(a, groups * sizeof(*r->no_error));
	if (!r->count || !r->counted || !r->quantum || !r->member || !r->first || !r->cov ||
	    !r->no_error)
		return err_nomem(err);
	for (size_t i = 0; i < cells; i++)
		r->count[i] = NAN;
	for (size_t i = 0; i < events; i++)
		r->counted[i] = NAN;
	return 0;
}

/* One group's events that have their home in it. */
static int add_group(const struct slices *s, struct result *r, struct arena *a, uint32_t g,
		     const uint64_t when[2], const uint32_t *ref, const double *total,
		     uint32_t *home, struct err *err)
{
	const struct slices_kept *k = &s->group[g];
	struct arena scratch = ARENA_INIT;
	struct span p = { .s = s, .group = g, .ref = ref, .total = total };
	uint32_t *member = arena_alloc(&scratch, (k->n + 1) * sizeof(*member));
	int rc = -1;

	if (!member) {
		err_nomem(err);
		goto out;
	}
	for (uint32_t e = 0; e < k->n; e++) {
		if (home[k->event[e]] != g)
			continue;
		member[p.n_members++] = e;
		r->member[r->n_members++] = k->event[e];
		home[k->event[e]] = UINT32_MAX; /* once, should the group name it twice */
	}
	p.member = member;
	p.lo = nearest(k, when[0]);
	p.n = nearest(k, when[1]);
	p.n = p.n > p.lo ? p.n - p.lo : 0;
	p.cov = arena_alloc(a, (p.n_members * p.n_members + 1) * sizeof(double));
	if (!p.cov) {
		err_nomem(err);
		goto out;
	}
	if (p.n && p.n_members) {
		if (span_run(&p, &scratch, err))
			goto out;
		give(&p, r, a, g);
	}
	rc = 0;
out:
	arena_free(&scratch);
	return rc;
}

int slices_counts(const struct slices *s, struct arena *a, uint64_t from, uint64_t to,
		  struct tree_counts *out, struct err *err)
{
	const uint64_t when[2] = { from, to };
	struct arena scratch = ARENA_INIT;
	struct result r = { 0 };
	uint32_t *ref = arena_alloc(&scratch, (s->n_targets + 1) * sizeof(*ref));
	uint32_t *home = arena_alloc(&scratch, (s->n_events + 1) * sizeof(*home));
	double *total = arena_alloc(&scratch, (s->n_targets + 1) * sizeof(*total));
	int rc = -1;

	if (!ref || !home || !total) {
		err_nomem(err);
		goto out;
	}
	if (result_new(s, &r, a, err) || find_homes(s, from, to, home, &scratch, err))
		goto out;
	find_refs(s, from, to, ref, total);
	for (uint32_t g = 0; g < s->n_groups; g++) {
		r.first[g] = r.n_members;
		if (add_group(s, &r, a, g, when, ref, total, home, err))
			goto out;
	}
	r.first[s->n_groups] = r.n_members;
	out->count = r.count;
	out->n_lps = s->n_targets;
	out->counted = r.counted;
	out->quantum = r.quantum;
	out->member = r.member;
	out->first = r.first;
	out->cov = r.cov;
	out->no_error = r.no_error;
	out->n_groups = s->n_groups;
	rc = 0;
out:
	arena_free(&scratch);
	return rc;
}
