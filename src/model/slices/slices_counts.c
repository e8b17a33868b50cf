/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of an interval out of all groups.
 *
 * Events that count in several groups (cycles in all of them, mostly) are pooled: they become a
 * group of their own, the last, whose time on the counters is that of all of them together.
 */
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "model/slices/slices_int.h"

struct job {
	const struct slices *s; /* with the group of shared events as the last, if there are any */
	struct arena *a;	/* of results */
	struct arena *scratch;
	uint64_t since, from, to; /* errors are of [since, to], counts of [from, to] */
	const uint32_t *when;	  /* of the time in which these groups were on; NULL: of all */
	size_t n_when;
	size_t n_groups; /* of the setup */
	uint32_t *ref;
	double *total;
	double *count, *counted, *quantum;
	double *long_count;	/* of shared events in [since, to] */
	const double *long_cov; /* and of their group; NULL: exact */
	double **cov;
	size_t *slices; /* that they are of */
	const char **no_error;
};

/* The reference of each target: the group that was enabled longest has the time to be counted. */
static void find_refs(const struct job *j)
{
	const struct slices *s = j->s;

	for (size_t target = 0; target < s->n_targets; target++)
		j->total[target] = -1;
	for (size_t g = 0; g < j->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];
		size_t lo = slices_nearest(k, j->since), hi = slices_nearest(k, j->to);

		for (size_t cell = 0; cell < k->stride; cell++) {
			size_t target = cell % s->n_targets;
			double d;

			if (k->same[cell] != cell / s->n_targets)
				continue;
			d = k->cell.v[hi * k->stride + cell].enabled -
			    k->cell.v[lo * k->stride + cell].enabled;
			if (d > j->total[target]) {
				j->total[target] = d;
				j->ref[target] = (uint32_t)g;
			}
		}
	}
	for (size_t target = 0; target < s->n_targets; target++)
		if (j->total[target] < 0)
			j->total[target] = 0;
}

static void *counts_room(struct arena *a, size_t n, size_t size)
{
	return arena_alloc(a, (n + 1) * size);
}

/* Nothing is known yet of the events of groups. */
static int job_new(struct job *j, const struct slices *s, struct err *err)
{
	size_t targets = s->n_targets, groups = s->n_groups + 1;

	j->ref = s->ref;
	j->total = s->total;
	j->count = s->count;
	j->long_count = j->since < j->from ? s->long_count : s->count;
	j->counted = s->counted;
	j->quantum = s->quantum;
	j->cov = counts_room(j->a, groups, sizeof(*j->cov));
	j->no_error = counts_room(j->a, groups, sizeof(*j->no_error));
	j->slices = counts_room(j->a, groups, sizeof(*j->slices));
	if (!j->cov || !j->slices || !j->no_error)
		return err_nomem(err);
	for (uint32_t i = 0; i < s->first[groups]; i++) {
		uint32_t event = s->out[i];

		for (size_t t = 0; t < targets; t++)
			s->count[event * targets + t] = s->long_count[event * targets + t] = NAN;
		s->counted[event] = NAN;
		s->quantum[event] = 0;
	}
	return 0;
}

/* ---- events of several groups ---- */

/* One group's position in walking over the times of the shared one. */
struct walk {
	size_t group, event;
	const struct slices_when *when;
	struct slices_cell was;
};

/* Where the times of the shared group stand among the readings of the others. */
struct walks {
	struct walk *walk;	  /* scratch, by event of a group */
	struct slices_when *when; /* [group * times + time]; all 0 of a group that gained nothing */
	bool *gained;		  /* by group */
};

static int walks_new(struct walks *w, const struct job *j, const struct slices_kept *all,
		     struct err *err)
{
	const struct slices *s = j->s;
	size_t cells = 0;

	for (size_t g = 0; g < s->n_groups; g++)
		cells += s->group[g].n;
	w->walk = counts_room(j->scratch, cells, sizeof(*w->walk));
	w->when = counts_room(j->scratch, s->n_groups * all->t.n, sizeof(*w->when));
	w->gained = counts_room(j->scratch, s->n_groups, sizeof(*w->gained));
	if (!w->walk || !w->when || !w->gained)
		return err_nomem(err);
	for (size_t g = 0; g < s->n_groups; g++) {
		w->gained[g] = slices_gained(s, g, all->t.v[0], all->t.v[all->t.n - 1]);
		if (w->gained[g])
			slices_find(&s->group[g], all->t.v, all->t.n, &w->when[g * all->t.n]);
	}
	return 0;
}

static struct slices_cell walk_on(const struct job *j, struct walk *w, size_t target, size_t i)
{
	struct slices_cell now = slices_then(j->s, w->group, w->event, target, &w->when[i]);
	struct slices_cell d = { now.value - w->was.value, now.enabled - w->was.enabled,
				 now.running - w->was.running };

	w->was = now;
	return d;
}

/* One shared event on one target: in each slice the sum over its groups, or the count of a group
 * that saw all of it. */
static void pool_event(const struct job *j, struct slices_kept *all, size_t at, size_t target,
		       const struct walks *w)
{
	const struct slices *s = j->s;
	size_t cell = at * s->n_targets + target, n = 0;
	struct walk ref = { .group = j->ref[target], .when = w->when + j->ref[target] * all->t.n };

	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t e = 0; e < s->group[g].n; e++) {
			if (s->group[g].event[e] != all->event[at] ||
			    !s->group[g].seen[e * s->n_targets + target])
				continue;
			all->seen[cell] = true;
			if (w->gained[g])
				w->walk[n++] = (struct walk){ .group = g,
							      .event = e,
							      .when = w->when + g * all->t.n };
		}
	for (size_t i = 0; i < all->t.n && all->seen[cell]; i++) {
		struct slices_cell *to = &all->cell.v[i * all->stride + cell];
		struct slices_cell sum = { 0, walk_on(j, &ref, target, i).enabled, 0 };
		bool whole = false;

		for (size_t k = 0; k < n; k++) {
			struct slices_cell d = walk_on(j, &w->walk[k], target, i);

			if (!whole && d.running > 0 && d.running >= 0.9999 * sum.enabled) {
				whole = true;
				sum.value = d.value;
				sum.running = d.running;
			} else if (!whole) {
				sum.value += d.value;
				sum.running += d.running;
			}
		}
		if (!i) /* the time before the first reading is no slice */
			continue;
		assert(sum.value >= 0 && sum.enabled >= 0 && sum.running >= 0);
		*to = *(to - all->stride);
		to->value += sum.value;
		to->enabled += sum.enabled;
		to->running += sum.running;
	}
}

/* The group of shared events: readings at the times of the group that was read most often. */
static int share_of_time(struct job *j, struct slices *with, struct err *err)
{
	const struct slices *s = j->s;
	struct slices_kept *all = &with->group[s->n_groups], *finest = &with->group[0];
	struct walks walks;
	size_t lo, hi;

	for (size_t g = 1; g < s->n_groups; g++)
		if (with->group[g].t.n > finest->t.n)
			finest = &with->group[g];
	lo = slices_nearest(finest, j->since);
	hi = slices_nearest(finest, j->to);
	all->n = all->n_own = all->n_members = s->n_shared;
	all->stride = all->n * s->n_targets;
	all->event = s->shared;
	all->member = s->member;
	all->same = s->same;
	all->t.v = finest->t.v + lo;
	all->t.n = hi - lo + 1;
	all->seen = counts_room(j->scratch, all->stride, sizeof(*all->seen));
	all->cell.v = counts_room(j->scratch, all->t.n * all->stride, sizeof(*all->cell.v));
	if (!all->seen || !all->cell.v)
		return err_nomem(err);
	if (walks_new(&walks, j, all, err))
		return -1;
	for (size_t at = 0; at < all->n; at++)
		for (size_t t = 0; t < s->n_targets; t++)
			pool_event(j, all, at, t, &walks);
	with->n_groups = s->n_groups + 1;
	j->s = with;
	return 0;
}

/* ---- groups ---- */

/* Which slices are of the time that is asked for. */
static int find_in(struct span *p, const struct job *j, struct err *err)
{
	const struct slices_kept *k = &j->s->group[p->group];
	bool visit;

	if (!j->when)
		return 0;
	p->in = counts_room(j->scratch, p->n, sizeof(*p->in));
	if (!p->in)
		return err_nomem(err);
	for (size_t i = 0; i < p->n; i++) {
		uint64_t a = k->t.v[p->lo + i], b = k->t.v[p->lo + i + 1];

		p->in[i] = slices_on_at(j->s, j->when, j->n_when, a + (b - a) / 2, &visit);
	}
	return 0;
}

/* A span of group `g` from `from` on, with the groups that are always needed. */
static int span_new(struct span *p, const struct job *j, size_t g, uint64_t from, struct err *err)
{
	const struct slices_kept *k = &j->s->group[g];
	size_t n = k->n_members, targets = j->s->n_targets;

	p->s = j->s;
	p->group = g;
	p->ref = j->ref;
	p->total = j->total;
	p->member = k->member;
	p->n_own = k->n_own;
	p->n_members = n;
	p->lo = slices_nearest(k, from);
	p->n = slices_nearest(k, j->to);
	p->n = p->n > p->lo ? p->n - p->lo : 0;
	p->count = counts_room(j->scratch, n * targets, sizeof(double));
	p->running = counts_room(j->scratch, n, sizeof(double));
	p->time = counts_room(j->scratch, n, sizeof(double));
	p->told_by = counts_room(j->scratch, n, sizeof(*p->told_by));
	return p->count && p->running && p->time && p->told_by ? find_in(p, j, err)
							       : err_nomem(err);
}

/* For counts if the group was not always on the counters. */
static int span_room(struct span *p, const struct job *j, struct err *err)
{
	size_t n = p->n_members;

	p->when = counts_room(j->scratch, j->s->n_groups * (p->n + 1), sizeof(*p->when));
	p->cut = counts_room(j->scratch, p->n, sizeof(*p->cut));
	p->exists = counts_room(j->scratch, p->n * j->s->n_targets, sizeof(double));
	p->strata = counts_room(j->scratch, p->n, sizeof(*p->strata));
	p->rate = counts_room(j->scratch, p->n, sizeof(double));
	p->lead = counts_room(j->scratch, n, sizeof(*p->lead));
	p->extra = counts_room(j->scratch, n, sizeof(double));
	return p->when && p->cut && p->exists && p->strata && p->rate && p->lead && p->extra
		       ? 0
		       : err_nomem(err);
}

/* For errors; before anything is counted. */
static int span_errors(struct span *p, const struct job *j, struct err *err)
{
	size_t n = p->n_own;

	p->told_how = counts_room(j->scratch, n, sizeof(double));
	p->diff = counts_room(j->scratch, p->n * p->n_members, sizeof(double));
	p->cov = counts_room(j->a, n * n, sizeof(double));
	if (!p->told_how || !p->diff || !p->cov)
		return err_nomem(err);
	if (p->calm)
		return 0;
	p->diff2 = counts_room(j->scratch, p->n * p->n_members, sizeof(double));
	p->noise = counts_room(j->scratch, n * n, sizeof(double));
	p->room = counts_room(j->scratch, 2 * n * n + 2 * n, sizeof(double));
	return p->diff2 && p->noise && p->room ? 0 : err_nomem(err);
}

static void give_counts(const struct span *p, double *count)
{
	const struct slices_kept *k = &p->s->group[p->group];
	size_t targets = p->s->n_targets;

	for (size_t m = 0; m < p->n_own; m++)
		memcpy(&count[k->event[p->member[m]] * targets], &p->count[m * targets],
		       targets * sizeof(double));
}

/* The counts of `q`, the errors of `p`. */
static void give_count(const struct span *p, const struct span *q, struct job *j)
{
	const struct slices_kept *k = &q->s->group[q->group];

	give_counts(q, j->count);
	for (size_t m = 0; m < q->n_own; m++) {
		uint32_t event = k->event[q->member[m]];

		j->counted[event] = q->time[m] > 0 ? q->running[m] / q->time[m] : 0;
		if (j->counted[event] > 1)
			j->counted[event] = 1;
		assert(is_share_or_unknown(j->counted[event]));
	}
	if (!q->sampled)
		return;
	j->slices[p->group] = p->most_strata;
	if (p->most_strata >= SLICES_FEWEST)
		j->cov[p->group] = p->cov;
	else
		j->no_error[p->group] =
			p->most_strata
				? arena_printf(j->a, "on the counters in %zu slices of time only",
					       p->most_strata)
				: "never on the counters";
}

/* Keeps the results of all of [since, to], of a shared group for the groups that share with it. */
static int keep_long(struct job *j, const struct span *p, struct err *err)
{
	size_t cells = p->n_own * p->n_own;

	if (p->group < j->n_groups)
		return 0;
	give_counts(p, j->long_count);
	if (!p->sampled || p->most_strata < SLICES_FEWEST)
		return 0;
	j->long_cov = arena_memdup(j->a, p->cov, cells * sizeof(double));
	return j->long_cov ? 0 : err_nomem(err);
}

/* Applies the results of [since, to] to the counts of [from, to] in it. */
static int narrow(struct job *j, struct span *p, struct err *err)
{
	struct span q = { .shared_count = j->count };
	bool whole;

	if (span_new(&q, j, p->group, j->from, err))
		return -1;
	if (!q.n)
		return 0;
	whole = slices_whole(&q);
	if (!whole) {
		if (span_room(&q, j, err))
			return -1;
		slices_strata(&q);
	}
	if (!whole || p->sampled) {
		if (!p->cov && span_errors(p, j, err))
			return -1;
		slices_narrow(p, &q);
	}
	give_count(p, &q, j);
	return 0;
}

static int add_group_counts(struct job *j, size_t g, struct err *err)
{
	struct span p = { .calm = j->since < j->from,
			  .shared_count = j->long_count,
			  .shared_cov = j->long_cov };

	if (span_new(&p, j, g, j->since, err))
		return -1;
	if (!p.n || !p.n_own)
		return 0;
	if (!slices_whole(&p)) {
		if (span_room(&p, j, err) || span_errors(&p, j, err))
			return -1;
		slices_strata(&p);
		slices_errors(&p);
	}
	if (keep_long(j, &p, err))
		return -1;
	if (j->since < j->from)
		return narrow(j, &p, err);
	give_count(&p, &p, j);
	return 0;
}

/* Half a step of events that count in steps. */
static void find_quanta(struct job *j)
{
	const struct slices *s = j->s;

	for (size_t g = 0; g < j->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];
		double slots = 0;

		if (!k->stepped)
			continue;
		for (size_t t = 0; t < s->n_targets; t++)
			if (!isnan(j->count[k->event[0] * s->n_targets + t]))
				slots += j->count[k->event[0] * s->n_targets + t];
		for (size_t e = 0; e < k->n; e++)
			if (k->stepped[e])
				j->quantum[k->event[e]] = slots / 255 / 2;
	}
}

/* Shared events are on the counters most of the time, and speak for themselves. */
static int few(struct job *j, struct err *err)
{
	const struct slices_few x = { .s = j->s,
				      .n_groups = j->n_groups,
				      .cov = j->cov,
				      .n = j->slices,
				      .count = j->count,
				      .counted = j->counted };
	double *scratch = counts_room(j->scratch, j->s->n_events, sizeof(*scratch));

	if (!scratch)
		return err_nomem(err);
	slices_few(&x, scratch);
	return 0;
}

static int all_counts(struct slices *s, struct job *j, struct tree_counts *out, struct err *err)
{
	struct slices with = *s;
	int rc = -1;

	j->s = s;
	j->scratch = &s->scratch;
	j->n_groups = s->n_groups;
	with.group = counts_room(&s->scratch, s->n_groups + 1, sizeof(*with.group));
	if (!with.group) {
		err_nomem(err);
		goto out;
	}
	memcpy(with.group, s->group, s->n_groups * sizeof(*with.group));
	if (job_new(j, s, err))
		goto out;
	find_refs(j);
	/* shared events first: the others are estimated from them */
	if (s->n_shared && (share_of_time(j, &with, err) || add_group_counts(j, s->n_groups, err)))
		goto out;
	for (size_t g = 0; g < s->n_groups; g++)
		if (add_group_counts(j, g, err))
			goto out;
	if (few(j, err))
		goto out;
	find_quanta(j);
	out->count = j->count;
	out->n_lps = s->n_targets;
	out->counted = j->counted;
	out->quantum = j->quantum;
	out->member = s->out;
	out->first = s->first;
	out->cov = (const double *const *)j->cov;
	out->no_error = j->no_error;
	out->n_groups = j->s->n_groups;
	rc = 0;
out:
	arena_reset(&s->scratch);
	return rc;
}

int slices_counts(struct slices *s, struct arena *a, uint64_t from, uint64_t to,
		  struct tree_counts *out, struct err *err)
{
	return slices_counts_since(s, a, from, from, to, out, err);
}

int slices_counts_since(struct slices *s, struct arena *a, uint64_t since, uint64_t from,
			uint64_t to, struct tree_counts *out, struct err *err)
{
	struct job j = { .a = a, .since = since < from ? since : from, .from = from, .to = to };

	return all_counts(s, &j, out, err);
}

int slices_counts_when(struct slices *s, struct arena *a, const uint32_t *group, size_t n,
		       uint64_t from, uint64_t to, struct tree_counts *out, struct err *err)
{
	struct job j = {
		.a = a, .since = from, .from = from, .to = to, .when = group, .n_when = n
	};

	return all_counts(s, &j, out, err);
}
