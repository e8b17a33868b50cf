/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of an interval out of all groups.
 *
 * Events that count in several groups (cycles in all of them, mostly) are pooled: they become a
 * group of their own, the last, whose time on the counters is that of all of them together.
 */
#include <math.h>
#include <string.h>

#include "model/slices_int.h"

struct job {
	const struct slices *s; /* with the group of shared events as the last, if there are any */
	struct arena *a;	/* of what is given out */
	uint64_t since, from, to; /* errors are of [since, to], counts of [from, to] */
	size_t n_groups;	  /* of the setup */
	uint32_t *homes;	  /* by event: in how many groups it is */
	uint32_t *ref;
	double *total;
	bool *given;
	double *count, *counted, *quantum;
	double *long_count;	/* of shared events in [since, to] */
	const double *long_cov; /* and of their group; NULL: exact */
	uint32_t *member, *first, n_members;
	const double **cov;
	const char **no_error;
};

/* Of each target, the group that was enabled longest says how long there was something to count. */
static void find_refs(const struct job *j)
{
	const struct slices *s = j->s;

	for (size_t target = 0; target < s->n_targets; target++) {
		double most = -1;

		j->ref[target] = 0;
		for (size_t g = 0; g < j->n_groups; g++) {
			const struct slices_kept *k = &s->group[g];
			size_t lo = slices_nearest(k, j->since), hi = slices_nearest(k, j->to);

			for (size_t e = 0; e < k->n; e++) {
				double d = slices_at(s, g, hi, e, target)->enabled -
					   slices_at(s, g, lo, e, target)->enabled;

				if (d > most) {
					most = j->total[target] = d;
					j->ref[target] = (uint32_t)g;
				}
			}
		}
	}
}

static void *room(struct arena *a, size_t n, size_t size)
{
	return arena_alloc(a, (n + 1) * size);
}

static int job_new(struct job *j, struct arena *scratch, struct err *err)
{
	size_t events = j->s->n_events, targets = j->s->n_targets, groups = j->s->n_groups + 1;

	j->ref = room(scratch, targets, sizeof(*j->ref));
	j->total = room(scratch, targets, sizeof(*j->total));
	j->homes = room(scratch, events, sizeof(*j->homes));
	j->given = room(scratch, events, sizeof(*j->given));
	j->count = room(j->a, events * targets, sizeof(double));
	j->long_count = j->count;
	if (j->since < j->from)
		j->long_count = room(scratch, events * targets, sizeof(double));
	j->counted = room(j->a, events, sizeof(double));
	j->quantum = room(j->a, events, sizeof(double));
	j->member = room(j->a, events, sizeof(*j->member));
	j->first = room(j->a, groups + 1, sizeof(*j->first));
	j->cov = room(j->a, groups, sizeof(*j->cov));
	j->no_error = room(j->a, groups, sizeof(*j->no_error));
	if (!j->ref || !j->total || !j->homes || !j->given || !j->count || !j->long_count ||
	    !j->counted || !j->quantum || !j->member || !j->first || !j->cov || !j->no_error)
		return err_nomem(err);
	for (size_t i = 0; i < events * targets; i++)
		j->count[i] = NAN;
	for (size_t i = 0; i < events; i++)
		j->counted[i] = NAN;
	return 0;
}

/* ---- events of several groups ---- */

static void count_homes(struct job *j, struct slices_kept *all)
{
	const struct slices *s = j->s;

	for (size_t g = 0; g < s->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];

		for (size_t e = 0; e < k->n; e++) {
			bool twice = false;

			for (size_t b = 0; b < e; b++)
				twice = twice || k->event[b] == k->event[e];
			if (!twice && ++j->homes[k->event[e]] == 2)
				all->n++;
		}
	}
}

/* One group's position in walking over the times of the shared one. */
struct walk {
	size_t group, event, hint;
	struct slices_cell was;
};

static struct slices_cell walk_on(const struct job *j, struct walk *w, size_t target, uint64_t t)
{
	struct slices_cell now = slices_between(j->s, w->group, w->event, target, t, &w->hint);
	struct slices_cell d = { now.value - w->was.value, now.enabled - w->was.enabled,
				 now.running - w->was.running };

	w->was = now;
	return d;
}

/* One shared event on one target: in each slice what all its groups saw, or the one that saw all. */
static void pool_event(const struct job *j, struct slices_kept *all, size_t at, size_t target,
		       struct walk *walk)
{
	const struct slices *s = j->s;
	size_t cell = at * s->n_targets + target, n = 0;
	struct walk ref = { .group = j->ref[target] };

	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t e = 0; e < s->group[g].n; e++)
			if (s->group[g].event[e] == all->event[at] &&
			    s->group[g].seen[e * s->n_targets + target])
				walk[n++] = (struct walk){ .group = g, .event = e };
	all->seen[cell] = n > 0;
	for (size_t i = 0; i < all->t.n && n; i++) {
		struct slices_cell *to = &all->cell.v[i * all->stride + cell];
		struct slices_cell sum = { 0, walk_on(j, &ref, target, all->t.v[i]).enabled, 0 };
		bool whole = false;

		for (size_t k = 0; k < n; k++) {
			struct slices_cell d = walk_on(j, &walk[k], target, all->t.v[i]);

			if (!whole && d.running > 0 && d.running >= 0.9999 * sum.enabled) {
				whole = true;
				sum.value = d.value;
				sum.running = d.running;
			} else if (!whole) {
				sum.value += d.value;
				sum.running += d.running;
			}
		}
		if (!i) /* what was before the first is no slice */
			continue;
		*to = *(to - all->stride);
		to->value += sum.value;
		to->enabled += sum.enabled;
		to->running += sum.running;
	}
}

/* The group of shared events: readings at the times of the group that was read most often. */
static int share(struct job *j, struct slices *with, struct arena *scratch, struct err *err)
{
	const struct slices *s = j->s;
	struct slices_kept *all = &with->group[s->n_groups], *finest = &with->group[0];
	size_t lo, hi, n = 0, cells = 0;
	struct walk *walk;

	for (size_t g = 0; g < s->n_groups; g++)
		cells += s->group[g].n;
	walk = room(scratch, cells, sizeof(*walk));
	all->stride = all->n * s->n_targets;
	for (size_t g = 1; g < s->n_groups; g++)
		if (with->group[g].t.n > finest->t.n)
			finest = &with->group[g];
	lo = slices_nearest(finest, j->since);
	hi = slices_nearest(finest, j->to);
	all->t.v = finest->t.v + lo;
	all->t.n = hi - lo + 1;
	all->event = room(scratch, all->n, sizeof(*all->event));
	all->seen = room(scratch, all->stride, sizeof(*all->seen));
	all->cell.v = room(scratch, all->t.n * all->stride, sizeof(*all->cell.v));
	if (!walk || !all->event || !all->seen || !all->cell.v)
		return err_nomem(err);
	for (uint32_t e = 0; e < s->n_events; e++)
		if (j->homes[e] > 1)
			all->event[n++] = e;
	for (size_t at = 0; at < n; at++)
		for (size_t t = 0; t < s->n_targets; t++)
			pool_event(j, all, at, t, walk);
	with->n_groups = s->n_groups + 1;
	j->s = with;
	return 0;
}

/* ---- groups ---- */

static int span_new(struct span *p, const struct job *j, size_t g, uint64_t from,
		    struct arena *scratch, struct err *err)
{
	const struct slices_kept *k = &j->s->group[g];
	size_t n = k->n, targets = j->s->n_targets;

	p->s = j->s;
	p->group = g;
	p->ref = j->ref;
	p->total = j->total;
	p->lo = slices_nearest(k, from);
	p->n = slices_nearest(k, j->to);
	p->n = p->n > p->lo ? p->n - p->lo : 0;
	p->member = room(scratch, n, sizeof(*p->member));
	p->cut = room(scratch, p->n, sizeof(*p->cut));
	p->exists = room(scratch, p->n, sizeof(double));
	p->strata = room(scratch, p->n, sizeof(*p->strata));
	p->diff = room(scratch, p->n * n, sizeof(double));
	p->noise = room(scratch, n * n, sizeof(double));
	p->room = room(scratch, 2 * n * n + 2 * n, sizeof(double));
	p->diff2 = room(scratch, p->n * n, sizeof(double));
	p->count = room(scratch, n * targets, sizeof(double));
	p->running = room(scratch, n, sizeof(double));
	p->time = room(scratch, n, sizeof(double));
	p->extra = room(scratch, n, sizeof(double));
	p->told_by = room(scratch, n, sizeof(*p->told_by));
	p->told_how = room(scratch, n, sizeof(double));
	p->cov = room(j->a, n * n, sizeof(double));
	if (!p->member || !p->cut || !p->exists || !p->strata || !p->diff || !p->diff2 ||
	    !p->noise || !p->room || !p->count || !p->running || !p->time || !p->extra ||
	    !p->told_by || !p->told_how || !p->cov)
		return err_nomem(err);
	return 0;
}

/* Events that are this group's alone, then those that it shares. */
static void find_members(struct span *p, struct job *j)
{
	const struct slices_kept *k = &j->s->group[p->group];
	bool shared = p->group >= j->n_groups;

	for (uint32_t e = 0; e < k->n; e++) {
		if ((j->homes[k->event[e]] > 1) != shared || j->given[k->event[e]])
			continue;
		p->member[p->n_members++] = e;
		j->given[k->event[e]] = true; /* once, should the group name it twice */
	}
	p->n_own = p->n_members;
	for (uint32_t e = 0; e < k->n && !shared; e++)
		if (j->homes[k->event[e]] > 1)
			p->member[p->n_members++] = e;
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
static void give(const struct span *p, const struct span *q, struct job *j)
{
	const struct slices_kept *k = &q->s->group[q->group];

	give_counts(q, j->count);
	for (size_t m = 0; m < q->n_own; m++) {
		uint32_t event = k->event[q->member[m]];

		j->counted[event] = q->time[m] > 0 ? q->running[m] / q->time[m] : 0;
		if (j->counted[event] > 1)
			j->counted[event] = 1;
	}
	if (!q->sampled)
		return;
	if (p->most_strata >= SLICES_FEWEST)
		j->cov[p->group] = p->cov;
	else
		j->no_error[p->group] =
			p->most_strata
				? arena_printf(j->a, "on the counters in %zu slices of time only",
					       p->most_strata)
				: "never on the counters";
}

/* False: there is no error. */
static bool count_span(struct span *p)
{
	if (slices_whole(p))
		return false;
	if (p->s->n_targets)
		slices_cuts(p);
	for (size_t t = 0; t < p->s->n_targets; t++)
		slices_target(p, t);
	return true;
}

/* What was found out in all of [since, to], of a shared group for those that share with it. */
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

static int add_group(struct job *j, size_t g, struct err *err)
{
	struct arena scratch = ARENA_INIT;
	struct span p = { 0 }, q = { 0 };
	int rc = -1;

	if (span_new(&p, j, g, j->since, &scratch, err))
		goto out;
	find_members(&p, j);
	p.calm = j->since < j->from;
	p.shared_count = j->long_count;
	p.shared_cov = j->long_cov;
	rc = 0;
	if (!p.n || !p.n_own)
		goto out;
	if (count_span(&p))
		slices_errors(&p);
	rc = keep_long(j, &p, err);
	if (!rc && j->since >= j->from)
		give(&p, &p, j);
	if (rc || j->since >= j->from)
		goto out;
	rc = span_new(&q, j, g, j->from, &scratch, err);
	if (rc || !q.n)
		goto out;
	memcpy(q.member, p.member, p.n_members * sizeof(*q.member));
	q.n_own = p.n_own;
	q.n_members = p.n_members;
	q.shared_count = j->count;
	if (count_span(&q) || p.sampled)
		slices_narrow(&p, &q);
	give(&p, &q, j);
out:
	arena_free(&scratch);
	return rc;
}

/* Who is where, and half a step of those that are told in steps. */
static void list_members(struct job *j)
{
	const struct slices *s = j->s;

	for (uint32_t e = 0; e < s->n_events; e++)
		j->given[e] = false;
	for (size_t g = 0; g < s->n_groups; g++) {
		const struct slices_kept *k = &s->group[g];
		double slots = 0;

		j->first[g] = j->n_members;
		for (size_t t = 0; k->stepped && t < s->n_targets; t++)
			if (!isnan(j->count[k->event[0] * s->n_targets + t]))
				slots += j->count[k->event[0] * s->n_targets + t];
		for (size_t e = 0; e < k->n; e++) {
			uint32_t event = k->event[e];

			if (k->stepped && k->stepped[e])
				j->quantum[event] = slots / 255 / 2;
			if ((j->homes[event] > 1) != (g >= j->n_groups) || j->given[event])
				continue;
			j->given[event] = true;
			j->member[j->n_members++] = event;
		}
	}
	j->first[s->n_groups] = j->n_members;
}

int slices_counts(const struct slices *s, struct arena *a, uint64_t from, uint64_t to,
		  struct tree_counts *out, struct err *err)
{
	return slices_counts_since(s, a, from, from, to, out, err);
}

int slices_counts_since(const struct slices *s, struct arena *a, uint64_t since, uint64_t from,
			uint64_t to, struct tree_counts *out, struct err *err)
{
	struct job j = { .s = s,
			 .a = a,
			 .since = since < from ? since : from,
			 .from = from,
			 .to = to,
			 .n_groups = s->n_groups };
	struct arena scratch = ARENA_INIT;
	struct slices with = *s;
	int rc = -1;

	with.group = room(&scratch, s->n_groups + 1, sizeof(*with.group));
	if (!with.group) {
		err_nomem(err);
		goto out;
	}
	memcpy(with.group, s->group, s->n_groups * sizeof(*with.group));
	if (job_new(&j, &scratch, err))
		goto out;
	find_refs(&j);
	count_homes(&j, &with.group[s->n_groups]);
	/* shared events first: the others are told by them */
	if (with.group[s->n_groups].n &&
	    (share(&j, &with, &scratch, err) || add_group(&j, s->n_groups, err)))
		goto out;
	for (size_t g = 0; g < s->n_groups; g++)
		if (add_group(&j, g, err))
			goto out;
	list_members(&j);
	out->count = j.count;
	out->n_lps = s->n_targets;
	out->counted = j.counted;
	out->quantum = j.quantum;
	out->member = j.member;
	out->first = j.first;
	out->cov = j.cov;
	out->no_error = j.no_error;
	out->n_groups = j.s->n_groups;
	rc = 0;
out:
	arena_free(&scratch);
	return rc;
}
