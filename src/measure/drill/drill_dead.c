/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that count nothing: which counts of 0 are not believed, and why.
 *
 * Virtual machines and emulators offer events whose counters stay 0, and "0 % of cycles stalled" is
 * the worst that can be made of them. Yet 0 may be true. So a 0 that a node of the first level is
 * made of is tested: the same event counts this process at work that must stall (collect/alive.h).
 * If the test counts nothing either, the event is dead. Arm's PMUs also list their events.
 */
#include <math.h>

#include "base/num.h"
#include "collect/alive.h"
#include "collect/sysfs.h"
#include "measure/drill.h"
#include "measure/validate_kept.h"

/* The first counter of an event; NULL: it has none. */
static const struct counter_event *counter_of(const struct drill *d, const struct drill_core *c,
					      uint32_t event)
{
	const struct drill_group *g;
	const struct plan_group *plan;

	if (event >= c->m->n_used || c->plan.home[event] == MODEL_NONE)
		return NULL;
	g = &c->group[c->plan.home[event]];
	plan = &c->plan.group[c->plan.home[event]];
	for (size_t i = 0; i < plan->n; i++)
		if (plan->event[i] == event && g->first[i] < g->first[i + 1]) {
			const struct drill_cell *cell = &g->cell[g->first[i]];

			return &d->setup.group[cell->group].event[cell->index];
		}
	return NULL;
}

static bool counted_zero(const struct drill_part *p, uint32_t event)
{
	return p->share && p->share[event] > 0 && p->sum[event] == 0;
}

/* Too long a time for a 0 that could not be tested. */
static const char *long_zero(const struct drill_part *p, struct arena *a)
{
	double cycles = tree_cycles(p->tree.model, &p->counts);
	char n[NUM_MAX];

	return cycles >= TREE_LONG
		       ? arena_printf(a, "counted 0 in %s cycles: its counter does not work here",
				      num_count(n, cycles))
		       : NULL;
}

/* Returns true if it is dead. */
static bool test_dead_event(struct drill *d, struct drill_part *p, uint32_t event)
{
	struct drill_core *c = &d->core[p->core];
	const struct counter_event *e = counter_of(d, c, event);
	struct perf_event_attr attr;
	enum alive alive;

	if (!e)
		return false;
	attr = e->attr;
	if (d->setup.user_only)
		attr.exclude_kernel = attr.exclude_hv = 1;
	if (d->setup.kernel_only)
		attr.exclude_user = 1;
	alive = alive_test(&attr);
	if (alive == ALIVE_NO)
		c->dead[event] = "counted 0, also in a test that must count: its counter does not "
				 "work here";
	else if (alive == ALIVE_UNKNOWN)
		c->dead[event] = long_zero(p, d->a);
	c->tested[event] = alive == ALIVE_YES || c->dead[event];
	return c->dead[event] != NULL;
}

/* Events that this CPU lacks, though the kernel opened them. True if there are any. */
static bool find_missing(struct drill *d, struct drill_part *p)
{
	struct drill_core *c = &d->core[p->core];
	const struct tree_counts *counts = &p->counts;
	bool found = false;

	for (uint32_t i = 0; i < counts->first[counts->n_groups]; i++) {
		uint32_t event = counts->member[i];
		const struct counter_event *e = counter_of(d, c, event);

		if (!e || c->tested[event] || !counted_zero(p, event) || e->attr.config >= 64 ||
		    !(c->missing >> e->attr.config & 1))
			continue;
		c->dead[event] = "counted 0 and is not in sysfs: this CPU does not implement it";
		c->tested[event] = found = true;
	}
	return found;
}

int drill_wrong(struct drill *d, struct drill_core *c, const struct validate_kept *k,
		struct err *err)
{
	if (!k || !k->n)
		return 0;
	for (uint32_t i = 0; i < c->m->n_used; i++) {
		const struct validate_verdict_kept *v = validate_kept_find(k, c->m->event[i].name);

		if (!v || !validate_failed(v->verdict))
			continue;
		if (!c->wrong)
			c->wrong = arena_alloc(d->a, (c->m->n_events + 1) * sizeof(*c->wrong));
		if (!c->wrong)
			return err_nomem(err);
		c->wrong[i] = arena_printf(d->a, "failed validation here: %s%s%s",
					   validate_verdict_key[v->verdict], *v->text ? ", " : "",
					   v->text);
		if (!c->wrong[i])
			return err_nomem(err);
	}
	return 0;
}

/* *found: an event turned out to be dead. */
static int look_for_dead(struct drill *d, struct drill_part *p, bool *found, struct err *err)
{
	struct drill_core *c = &d->core[p->core];
	bool *suspect = arena_alloc(d->a, c->m->n_used + 1);

	if (!c->dead) {
		c->dead = arena_alloc(d->a, (c->m->n_events + 1) * sizeof(*c->dead));
		c->tested = arena_alloc(d->a, c->m->n_events + 1);
		c->missing = alive_missing(d->a, d->root, c->pmu);
	}
	if (!c->dead || !c->tested || !suspect)
		return err_nomem(err);
	*found |= find_missing(d, p);
	if (!tree_suspects(&p->tree, &p->counts, suspect))
		return 0;
	for (uint32_t e = 0; e < c->m->n_used; e++)
		if (suspect[e] && !c->tested[e])
			*found |= test_dead_event(d, p, e);
	return 0;
}

int drill_results(struct drill *d, const struct counting *k, struct arena *a, uint64_t from,
		  uint64_t to, struct err *err)
{
	bool found = false;

	if (drill_trees(d, k, a, from, to, err))
		return -1;
	for (size_t i = 0; i < d->n_parts; i++)
		if (!d->part[i].idle && look_for_dead(d, &d->part[i], &found, err))
			return -1;
	return found ? drill_trees(d, k, a, from, to, err) : 0;
}
