/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is on the counters: the group that keeps them, those that take turns, those that never came
 * to theirs.
 */
#include <math.h>

#include "plan/plan.h"
#include "measure/drill.h"

#define LONG 20000000ull /* ns for each group that takes turns: long enough to come to one */

bool drill_takes_turns(const struct drill_group *g)
{
	return g->core && (!g->pinned || g->lost);
}

/* The kernel turned the pinned group off if its readings end although its CPU is there. */
static bool pin_lost(const struct drill *d, const struct drill_group *g)
{
	const struct counter_value *pinned = d->value[g->counter_group[0]];
	const struct counter_value *spare = d->value[g->counter_group[1]];

	for (size_t t = 0; t < d->targets; t++)
		if (pinned[t].gone && !spare[t].gone)
			return true;
	return false;
}

/* On all targets, though one may have lost it: a group is switched as a whole. */
int drill_see_pin(struct drill *d, struct counting *k, struct drill_group *g, struct err *err)
{
	if (!g->pinned || g->lost || !g->n_counter_groups || !pin_lost(d, g))
		return 0;
	g->lost = true;
	return counting_switch(k, g->counter_group[0], false, err) ||
			       counting_switch(k, g->counter_group[1], g->on, err)
		       ? -1
		       : 0;
}

/* ns that all groups of a core's kind have been on their counters, as of their last readings. */
static uint64_t ran_there(const struct drill *d, const struct drill_core *c)
{
	uint64_t sum = 0;

	for (size_t g = 0; g < c->plan.n_groups; g++)
		for (size_t t = 0;
		     c->group[g].core && c->group[g].n_counter_groups && t < d->targets; t++)
			sum += d->value[c->group[g].counter_group[0]][t].running;
	return sum;
}

/* On a hybrid the program may have been on cores of the other kind: then other groups were not on
 * their counters, either. */
int drill_see_starved(struct drill *d, struct counting *k, size_t core, size_t group,
		      struct err *err)
{
	struct drill_core *c = &d->core[core];
	struct drill_group *g = &c->group[group];
	uint64_t running = 0, enabled = 0, there;

	if (!g->spare || g->lost)
		return 0;
	for (size_t t = 0; t < d->targets; t++) {
		const struct counter_value *v = &d->value[g->counter_group[0]][t];

		running += v->running;
		enabled = v->enabled > enabled ? v->enabled : enabled;
	}
	there = d->n_cores > 1 ? ran_there(d, c) : 0;
	if (running > g->came || enabled < g->wanted) {
		g->came = running;
		g->wanted = enabled;
		g->there = there;
	}
	if (enabled - g->wanted <= LONG ||
	    (d->n_cores > 1 && !k->who.whole_cpus && there - g->there <= 2 * LONG) ||
	    !counters_apart(k->c, g->counter_group[0]))
		return 0;
	g->lost = true;
	return counting_switch(k, g->counter_group[1], k->on[g->counter_group[0]], err);
}

/* ---- notes ------------------------------------------------------------------------------ */

static bool was_seen(const struct drill_core *c, size_t group)
{
	for (size_t s = 0; s < c->plan.n_stages; s++)
		for (size_t j = 0; stages_was_open(&c->stages, s) && j < c->plan.stage[s].n_groups;
		     j++)
			if (c->plan.stage[s].group[j] == group)
				return true;
	return false;
}

static size_t takes_turns_now(const struct drill_core *c)
{
	size_t n = 0;

	for (size_t g = 0; g < c->plan.n_groups; g++)
		n += was_seen(c, g) && drill_takes_turns(&c->group[g]);
	return n;
}

static const struct drill_group *pinned_group(const struct drill_core *c)
{
	return c->plan.n_groups && c->group[0].pinned ? &c->group[0] : NULL;
}

static const char *span_text(struct arena *a, double low, double high)
{
	const char *s = high - low < 1 ? arena_printf(a, "%.0f", low)
				       : arena_printf(a, "%.0f-%.0f", low, high);

	return s ? s : "?";
}

/* Level 1 would need no turns if nothing below it was counted. */
static bool level_1_alone(const struct drill_core *c)
{
	const struct plan_stage *s = &c->plan.stage[0];
	size_t n = 0;

	for (size_t g = 0; g < s->n_groups; g++)
		n += c->plan.group[s->group[g]].core;
	return n == 1 && c->plan.n_stages > 1;
}

/* "4 general counters": why there are so many groups. */
static const char *room_text(struct arena *a, const struct drill_core *c)
{
	const struct schedule_limits *l = &c->limits;
	unsigned n = (unsigned)__builtin_popcount((uint32_t)schedule_limits_avail(l));
	unsigned held = l->reserved;

	for (size_t i = 0; i < l->n_held; i++)
		held += !(l->held[i] >> 32); /* the others may be on a fixed one */
	held = held < n ? held : n;
	return arena_printf(a, "%u general counter%s%s", n - held, n - held == 1 ? "" : "s",
			    l->smt && c->m->counters_alone > c->m->counters
				    ? " a thread, twice as many without SMT"
				    : "");
}

/* The least and the most of the time that a node of level 1 was counted; false: none was. */
static bool level_1_shares(const struct drill_part *p, double *low, double *high)
{
	bool any = false;

	*low = 1, *high = 0;
	for (size_t i = 0; i < p->tree.n; i++) {
		double share = p->tree.node[i].counted;

		if (p->tree.model->metric[i].level != 1 || !(share > 0))
			continue;
		*low = fmin(*low, share);
		*high = fmax(*high, share);
		any = true;
	}
	return any;
}

static const char *level_1_text(struct arena *a, const struct drill_part *p,
				const struct drill_core *c, bool kept)
{
	const char *how = level_1_alone(c) ? " in turns with the others (all of it with -l 1)" : "";
	double low, high;
	const char *s;

	if (kept)
		return ", those of level 1 all of it";
	if (!level_1_shares(p, &low, &high))
		return "";
	s = arena_printf(a, ", those of level 1 %s %%%s", span_text(a, 100 * low, 100 * high), how);
	return s ? s : "";
}

/* "8 groups of counters took turns (4 general counters): ...", of the first part for which that is
 * so: of many the others are alike. */
static const char *turns(const struct drill *d, struct arena *a)
{
	for (size_t i = 0; i < d->n_parts; i++) {
		const struct drill_part *p = &d->part[i];
		const struct drill_core *c = &d->core[p->core];
		const struct drill_group *pinned = pinned_group(c);
		bool kept = pinned && !pinned->lost;
		double low = 1, high = 0;

		for (size_t e = 0; e < c->m->n_used && p->share; e++) {
			bool skip = c->m->event[e].flags & (EVENT_SOFTWARE | EVENT_UNCORE) ||
				    c->plan.home[e] == MODEL_NONE ||
				    (kept && c->plan.home[e] == 0) || !was_seen(c, c->plan.home[e]);

			if (skip || !isfinite(p->sum[e]) || !(p->share[e] > 0.005))
				continue;
			low = fmin(low, p->share[e]);
			high = fmax(high, p->share[e]);
		}
		if (takes_turns_now(c) < 2 || low >= 0.9995)
			continue;
		return arena_printf(a,
				    "%zu groups of counters took turns%s%s (%s): events were "
				    "counted %s %% of the time%s",
				    takes_turns_now(c), p->label ? " on " : "",
				    p->label ? p->label : "", room_text(a, c),
				    span_text(a, 100 * low, 100 * high),
				    level_1_text(a, p, c, kept));
	}
	return NULL;
}

static const char *lost_drill_pin(const struct drill *d)
{
	bool lost = false, counted = false;

	for (size_t i = 0; i < d->n_parts; i++) {
		const struct drill_part *p = &d->part[i];
		const struct drill_core *c = &d->core[p->core];
		const struct drill_group *g = pinned_group(c);

		if (!g || !g->lost || !p->share)
			continue;
		lost = true;
		counted |= p->share[c->plan.group[0].event[0]] > 0;
	}
	if (!lost)
		return NULL;
	return counted ? "level 1 took turns with the rest: somebody else holds a counter that it "
			 "was to keep"
		       : "level 1 was never counted: somebody else holds a counter that it needs, "
			 "all "
			 "of the time";
}

/* Something ran on cores of this kind: no other program keeps groups off counters that were never
 * used. If there is only one kind, it ran there. */
static bool was_used(const struct drill *d, size_t core)
{
	if (d->n_cores == 1)
		return true;
	for (size_t i = 0; i < d->n_parts; i++)
		if (d->part[i].core == core && !d->part[i].idle)
			return true;
	return false;
}

static bool starved(const struct drill *d, const struct drill_core *c, size_t group)
{
	const struct drill_group *g = &c->group[group];
	uint64_t enabled = 0, running = 0;

	if (!drill_takes_turns(g) || !g->n_counter_groups || g->pinned || g->lost)
		return false;
	for (size_t t = 0; t < d->targets; t++) {
		const struct counter_value *v = &d->value[g->counter_group[0]][t];

		enabled = v->enabled > enabled ? v->enabled : enabled;
		running += v->running;
	}
	/* in rounds it is enabled in its own turns alone */
	return !running && enabled > LONG * (drill_in_rounds(d) ? 1 : takes_turns_now(c));
}

static const char *never_on(const struct drill *d, struct arena *a)
{
	size_t n = 0;

	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; d->value && g < d->core[c].plan.n_groups; g++)
			n += was_used(d, c) && starved(d, &d->core[c], g);
	return n ? arena_printf(a,
				"%zu group%s of counters never came to a turn: somebody else holds "
				"counters (`cyclade doctor` tells how many are free)",
				n, n == 1 ? "" : "s")
		 : NULL;
}

/* The least of the time that a node of level 1 was counted; NAN: there is none. */
static double level_1_share(const struct drill *d)
{
	double least = NAN;

	for (size_t i = 0; i < d->n_parts; i++) {
		const struct drill_part *p = &d->part[i];
		const struct model *m = d->core[p->core].m;

		for (size_t n = 0; n < p->tree.n && !p->idle; n++) {
			if (m->metric[n].level != 1)
				continue;
			if (p->tree.node[n].value.why != VALUE_OK)
				least = 0;
			else if (isfinite(p->tree.node[n].counted))
				least = fmin(least, p->tree.node[n].counted);
		}
	}
	return least;
}

/* Who left this plan less than the CPU has, and the cost. */
static const char *held(const struct drill *d, struct arena *a)
{
	double share = level_1_share(d);

	for (size_t c = 0; c < d->n_cores; c++) {
		const struct drill_core *x = &d->core[c];
		const char *note = plan_limits_note(a, d->root, x->pmu, &x->limits);

		if (!was_used(d, c))
			continue;
		if (note && d->n_cores > 1)
			note = arena_printf(a, "%s: %s", x->pmu, note);
		if (note && isfinite(share))
			note = arena_printf(a, "%s: %s, level 1 was counted %.0f %% of the time",
					    note,
					    x->system[SYSTEM_NO_SLOTS] > 0
						    ? "formulas without PERF_METRICS are used"
						    : "groups were made smaller",
					    100 * share);
		if (note)
			return note;
	}
	return NULL;
}

/* Facts that the plan could not know. */
static const char *taken_apart(const struct drill *d, struct arena *a)
{
	double share = level_1_share(d);
	size_t n = 0;

	for (size_t c = 0; c < d->n_cores; c++)
		for (size_t g = 0; g < d->core[c].plan.n_groups; g++)
			n += !d->core[c].group[g].pinned && d->core[c].group[g].lost;
	return n ? arena_printf(a,
				"somebody took counters meanwhile: %zu group%s split into single "
				"events, level 1 was counted %.0f %% of the time",
				n, n == 1 ? " was" : "s were", isfinite(share) ? 100 * share : 0)
		 : NULL;
}

size_t drill_turn_notes(const struct drill *d, struct arena *a, const char *note[DRILL_TURN_NOTES])
{
	const char *all[DRILL_TURN_NOTES] = { held(d, a), taken_apart(d, a), turns(d, a),
					      lost_drill_pin(d), never_on(d, a) };
	size_t n = 0;

	for (size_t i = 0; i < DRILL_TURN_NOTES; i++)
		if (all[i])
			note[n++] = all[i];
	return n;
}
