/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - stages of metrics, the groups that each adds, and which way of planning takes the
 * fewest.
 */

#include <string.h>

#include "base/invariant.h"
#include "model/plan/plan_int.h"

/* A group of the plan with these events, or MODEL_NONE. */
static uint32_t find_plan_group(const struct planning *k, const struct schedule_group *g)
{
	for (size_t i = 0; i < k->n_groups; i++) {
		size_t found = 0;

		for (size_t e = 0; e < g->n; e++)
			for (size_t j = 0; j < k->group[i].n; j++)
				found += k->group[i].event[j] == g->event[e];
		if (found == g->n)
			return (uint32_t)i;
	}
	return MODEL_NONE;
}

static void add_unique(uint32_t *list, size_t *n, uint32_t v)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == v)
			return;
	list[(*n)++] = v;
}

/* The groups of a schedule become the plan's; `number` maps one to the other. */
static int take_groups(struct planning *k, const struct schedule *s, const uint32_t *have,
		       size_t n_have, uint32_t *number, struct err *err)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		uint32_t at = g < n_have ? have[g] : find_plan_group(k, &s->group[g]);

		if (at == MODEL_NONE) {
			if (k->n_groups == PLAN_GROUPS_MAX)
				return err_set(err, ERR_LIMIT, "more than %u groups of events",
					       PLAN_GROUPS_MAX);
			at = (uint32_t)k->n_groups++;
		} else if (g >= n_have) {
			number[g] = at;
			continue;
		}
		k->group[at].event = s->group[g].event;
		k->group[at].n = s->group[g].n;
		k->group[at].core = g < s->n_core;
		number[g] = at;
	}
	return 0;
}

/* The groups that one set is counted by. */
static void groups_of_set(const struct schedule *s, const struct stage_sets *x, size_t i,
			  const uint32_t *number, uint32_t *list, size_t *n)
{
	if (s->set_group[i] != MODEL_NONE)
		add_unique(list, n, number[s->set_group[i]]);
	for (size_t e = 0; e < x->set[i].n; e++) {
		uint32_t home = s->home[x->set[i].event[e]];

		if (home != MODEL_NONE && (s->set_group[i] == MODEL_NONE || home >= s->n_core))
			add_unique(list, n, number[home]);
	}
}

/* Groups that count whenever the stage under `node` is open: of stage 0, and of the stages above.
 */
static size_t groups_above(const struct planning *k, uint32_t node, uint32_t *list)
{
	size_t n = 0;

	for (size_t s = 0; s < k->n_stages; s++) {
		const struct plan_stage *x = &k->stage[s];
		bool above = x->under == MODEL_NONE;

		for (uint32_t p = node; p != MODEL_NONE && !above; p = k->m->metric[p].parent)
			above = x->under == p && p != node;
		for (size_t g = 0; above && g < x->n_groups; g++)
			if (k->group[x->group[g]].core && !k->group[x->group[g]].pinned)
				add_unique(list, &n, x->group[g]);
	}
	return n;
}

static int keep_stage(struct planning *k, const struct schedule *s, const struct stage_sets *x,
		      const uint32_t *number, uint32_t under, struct err *err)
{
	struct plan_stage *st = &k->stage[k->n_stages];
	uint32_t *group = arena_alloc(k->a, (k->n_groups + 1) * sizeof(*group));
	uint32_t *metric = arena_memdup(k->a, x->asked, (x->n_asked + 1) * sizeof(*metric));

	if (!group || !metric)
		return err_nomem(err);
	if (under == MODEL_NONE && k->n_groups && k->group[0].pinned)
		add_unique(group, &st->n_groups, 0);
	for (size_t i = 0; i < x->n_own; i++)
		groups_of_set(s, x, i, number, group, &st->n_groups);
	st->under = under;
	st->group = group;
	st->metric = metric;
	st->n_metrics = x->n_asked;
	k->n_stages++;
	for (size_t i = 0; i < s->n_split; i++)
		if (x->metric[s->split[i]] != MODEL_NONE)
			k->mixed[x->metric[s->split[i]]] = true;
	for (size_t i = 0; i < s->n_impossible; i++)
		add_unique(k->impossible, &k->n_impossible, s->impossible[i]);
	return 0;
}

static int add_stage(struct planning *k, struct stage_sets *x, uint32_t under, bool all,
		     struct err *err)
{
	uint32_t *have = arena_alloc(&k->scratch, PLAN_GROUPS_MAX * sizeof(*have));
	struct schedule_group *groups;
	uint32_t *number;
	struct schedule s;
	size_t n_have;

	if (!have)
		return err_nomem(err);
	if (plan_stage_sets(k, x, under, all, err))
		return -1;
	if (!x->n && under != MODEL_NONE)
		return 0;
	if (k->ahead && under != MODEL_NONE && plan_sets_below(k, x, under, err))
		return -1;
	n_have = groups_above(k, under, have);
	groups = arena_alloc(&k->scratch, (n_have + 1) * sizeof(*groups));
	if (!groups)
		return err_nomem(err);
	for (size_t i = 0; i < n_have; i++)
		groups[i] = (struct schedule_group){ k->group[have[i]].event, k->group[have[i]].n };
	if (schedule_more(&s, k->a, k->m, &k->l, groups, n_have, x->set, x->n, err))
		return -1;
	number = arena_alloc(&k->scratch, (s.n_groups + 1) * sizeof(*number));
	if (!number)
		return err_nomem(err);
	if (take_groups(k, &s, have, n_have, number, err))
		return -1;
	return keep_stage(k, &s, x, number, under, err);
}

/* The nodes of a level, in the order of the model; those that need the most first if stages keep
 * room for the stages below them. */
static int nodes_of_level(struct planning *k, unsigned level, uint32_t *node, size_t *n,
			  struct err *err)
{
	size_t *demand = arena_alloc(&k->scratch, (k->m->n_metrics + 1) * sizeof(*demand));

	if (!demand)
		return err_nomem(err);
	*n = 0;
	for (uint32_t i = 0; i < k->m->n_metrics; i++) {
		size_t events = 0, at;
		uint32_t child;

		if (k->m->metric[i].level != level || !k->wanted[i])
			continue;
		if (k->ahead && plan_demand(k, i, &events, &child, err))
			return -1;
		for (at = (*n)++; at && demand[at - 1] < events; at--) {
			node[at] = node[at - 1];
			demand[at] = demand[at - 1];
		}
		node[at] = i;
		demand[at] = events;
	}
	return 0;
}

/* Stages under nodes, those nearest to the root first: they get the room that is left. */
static int add_stages(struct planning *k, struct stage_sets *x, struct err *err)
{
	uint32_t *node = arena_alloc(&k->scratch, (k->m->n_metrics + 1) * sizeof(*node));

	if (!node)
		return err_nomem(err);
	if (add_stage(k, x, MODEL_NONE, k->w->all || k->w->no_tree, err))
		return -1;
	for (unsigned level = 1; level < 8 && !k->w->all && !k->w->no_tree; level++) {
		size_t n = 0;

		if (nodes_of_level(k, level, node, &n, err))
			return -1;
		for (size_t i = 0; i < n; i++)
			if (add_stage(k, x, node[i], false, err))
				return -1;
	}
	return 0;
}

static int renumber(struct planning *k, struct plan_stage *s, const uint32_t *number,
		    struct err *err)
{
	uint32_t *group = arena_alloc(k->a, (s->n_groups + 1) * sizeof(*group));

	if (!group)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_groups; i++)
		group[i] = number[s->group[i]];
	s->group = group;
	return 0;
}

/* Pieces of sets that no group can hold may be in other groups, too: then no stage has asked for
 * theirs. */
static int drop_unused(struct planning *k, struct err *err)
{
	uint32_t *number = arena_alloc(&k->scratch, (k->n_groups + 1) * sizeof(*number));
	size_t n = 0;

	if (!number)
		return err_nomem(err);
	for (size_t s = 0; s < k->n_stages; s++)
		for (size_t i = 0; i < k->stage[s].n_groups; i++)
			number[k->stage[s].group[i]] = 1;
	for (size_t g = 0; g < k->n_groups; g++) {
		if (!number[g])
			continue;
		k->group[n] = k->group[g];
		number[g] = (uint32_t)n++;
	}
	k->n_groups = n;
	for (size_t s = 0; s < k->n_stages; s++)
		if (renumber(k, &k->stage[s], number, err))
			return -1;
	return 0;
}

/* --- totals --- */

/* Number of core groups that count some set, and the pinned group. */
static int count_used(struct planning *k, const struct schedule *s, const struct stage_sets *x,
		      unsigned *out, struct err *err)
{
	uint32_t *number = arena_alloc(&k->scratch, (s->n_groups + 1) * sizeof(*number));
	uint32_t *list = arena_alloc(&k->scratch, (s->n_groups + 1) * sizeof(*list));
	size_t n = 0;

	if (!number || !list)
		return err_nomem(err);
	for (uint32_t g = 0; g < s->n_groups; g++)
		number[g] = g;
	for (size_t i = 0; i < x->n; i++)
		groups_of_set(s, x, i, number, list, &n);
	*out = k->group[0].pinned;
	for (size_t i = 0; i < n; i++)
		*out += list[i] < s->n_core;
	return 0;
}

static int count_all(struct planning *k, struct stage_sets *x, unsigned *out, struct err *err)
{
	struct schedule s;
	unsigned n = 0;

	if (k->n_stages == 1) {
		for (size_t g = 0; g < k->n_groups; g++)
			n += k->group[g].core;
		*out = n;
		return 0;
	}
	k->ahead = false;
	if (plan_stage_sets(k, x, MODEL_NONE, true, err) ||
	    schedule_make(&s, &k->scratch, k->m, &k->l, x->set, x->n, err))
		return -1;
	return count_used(k, &s, x, out, err);
}

/* Whether a group and the pinned group together have all of these. */
static bool holds(const struct planning *k, size_t group, const uint64_t *bits)
{
	size_t found = 0, want = 0;

	for (size_t i = 0; i < k->m->n_used; i++)
		want += bit_test(bits, i) &&
			!(k->m->event[i].flags & (EVENT_SOFTWARE | EVENT_UNCORE));
	for (size_t e = 0; e < k->group[group].n; e++)
		found += bit_test(bits, k->group[group].event[e]);
	for (size_t e = 0; e < k->l.n_beside && group; e++)
		found += bit_test(bits, k->l.beside[e]);
	return want && found == want;
}

/* The group with all events of a metric, among those that count while a stage is open. */
static void find_metric_groups(struct planning *k, uint32_t *metric_group)
{
	memset(metric_group, 0xff, k->m->n_metrics * sizeof(*metric_group));
	for (size_t s = 0; s < k->n_stages; s++) {
		const struct plan_stage *st = &k->stage[s];

		for (size_t i = 0; i < st->n_metrics; i++) {
			const struct metric_needs *x = &k->needs[st->metric[i]];
			bool whole = !k->w->loose && plan_fits(k, st->metric[i]);
			const uint64_t *bits = whole ? x->full : x->tight;
			uint32_t *best = &metric_group[st->metric[i]];

			if (k->l.n_beside && holds(k, 0, bits))
				*best = 0;
			for (size_t g = 0; g < st->n_groups; g++)
				if (st->group[g] < *best && k->group[st->group[g]].core &&
				    holds(k, st->group[g], bits))
					*best = st->group[g];
		}
	}
}

/* Groups that count while a stage and those above it are open. */
static size_t groups_open(const struct plan *p, const struct model *m, size_t stage, bool *is_open)
{
	size_t n = 0;

	memset(is_open, 0, p->n_groups * sizeof(*is_open));
	for (size_t s = 0; s < p->n_stages; s++) {
		bool above = p->stage[s].under == MODEL_NONE;

		for (uint32_t at = p->stage[stage].under; at != MODEL_NONE && !above;
		     at = m->metric[at].parent)
			above = p->stage[s].under == at;
		for (size_t g = 0; above && g < p->stage[s].n_groups; g++)
			is_open[p->stage[s].group[g]] = true;
	}
	for (size_t g = 0; g < p->n_groups; g++)
		n += is_open[g] && p->group[g].core;
	return n;
}

/* The most that the way down to any one node takes. */
static int find_deepest(struct plan *p, struct planning *k, struct err *err)
{
	bool *is_open = arena_alloc(&k->scratch, p->n_groups + 1);

	if (!is_open)
		return err_nomem(err);
	p->groups_at_once = 0;
	for (size_t s = 0; s < p->n_stages; s++) {
		size_t n = groups_open(p, k->m, s, is_open);

		if (n > p->groups_at_once)
			p->groups_at_once = (unsigned)n;
	}
	assert(p->groups_at_once <= p->n_groups);
	return 0;
}

static int finish_plan(struct planning *k, struct plan *out, struct err *err)
{
	size_t n_metrics = k->m->n_metrics, n_events = k->m->n_events;
	uint32_t *home = arena_alloc(k->a, (n_events + 1) * sizeof(*home));
	uint32_t *metric_group = arena_alloc(k->a, (n_metrics + 1) * sizeof(*metric_group));

	if (!home || !metric_group)
		return err_nomem(err);
	memset(home, 0xff, (n_events + 1) * sizeof(*home));
	for (size_t g = k->n_groups; g-- > 0;)
		for (size_t e = 0; e < k->group[g].n; e++)
			home[k->group[g].event[e]] = (uint32_t)g;
	find_metric_groups(k, metric_group);
	assert(all_hold(n_metrics, i,
			metric_group[i] == MODEL_NONE || metric_group[i] < k->n_groups));
	out->home = home;
	out->metric_group = metric_group;
	out->group = k->group;
	out->n_groups = k->n_groups;
	out->stage = k->stage;
	out->n_stages = k->n_stages;
	out->wanted = k->wanted;
	out->mixed = k->mixed;
	out->impossible = k->impossible;
	out->n_impossible = k->n_impossible;
	return find_deepest(out, k, err) || plan_latencies(k, out, err) ? -1 : 0;
}

static int planning_init(struct planning *k, struct err *err)
{
	size_t n = k->m->n_metrics;

	k->wanted = arena_alloc(k->a, (n + 1) * sizeof(*k->wanted));
	k->mixed = arena_alloc(k->a, (n + 1) * sizeof(*k->mixed));
	k->group = arena_alloc(k->a, PLAN_GROUPS_MAX * sizeof(*k->group));
	k->stage = arena_alloc(k->a, (n + 1) * sizeof(*k->stage));
	k->impossible = arena_alloc(k->a, (k->m->n_events + 1) * sizeof(*k->impossible));
	if (!k->wanted || !k->mixed || !k->group || !k->stage || !k->impossible)
		return err_nomem(err);
	return plan_needs(k, err);
}

#define WORTHWHILE   4 /* groups for everything: level 1 and a step down are two */
#define FEW_COUNTERS 4 /* of a thread that shares its core's, before Ice Lake */

struct manner { /* of planning */
	bool pin, apart, ahead;
	bool could_be_apart; /* out */
};

static int make_plan(struct plan *out, struct arena *a, const struct model *m,
		     const struct schedule_limits *l, const struct plan_wish *w, struct manner *how,
		     struct err *err)
{
	struct planning k = { .m = m,
			      .l = *l,
			      .w = w,
			      .a = a,
			      .scratch = ARENA_INIT,
			      .apart = how->apart,
			      .ahead = how->ahead,
			      .filler = MODEL_NONE };
	struct stage_sets x;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (planning_init(&k, err) || plan_choose(&k, err))
		goto out;
	plan_common(&k);
	how->could_be_apart = k.any_common;
	if (how->apart)
		k.filler = plan_free_cycles(&k);
	if ((how->pin && plan_pin(&k, err)) || plan_events(&k, err) ||
	    plan_sets_init(&k, &x, err) || add_stages(&k, &x, err) || drop_unused(&k, err) ||
	    count_all(&k, &x, &out->groups_for_all, err) || finish_plan(&k, out, err))
		goto out;
	rc = 0;
out:
	arena_free(&k.scratch);
	return rc;
}

static size_t core_groups(const struct plan *p)
{
	size_t n = 0;

	for (size_t g = 0; g < p->n_groups; g++)
		n += p->group[g].core;
	return n;
}

static bool is_shorter(const struct plan *a, const struct plan *b)
{
	if (a->groups_for_all != b->groups_for_all)
		return a->groups_for_all < b->groups_for_all;
	if (a->groups_at_once != b->groups_at_once)
		return a->groups_at_once < b->groups_at_once;
	return core_groups(a) < core_groups(b);
}

/* Groups are best with all that their formulas need. Common values are counted apart only if
 * counters are few and groups become fewer; stages keep room for the stages below them only if the
 * way down to a node takes more than half of the groups of all metrics. */
int plan_make(struct plan *out, struct arena *a, const struct model *m,
	      const struct schedule_limits *l, const struct plan_wish *w, struct err *err)
{
	struct manner how = { .pin = w->pin };
	struct plan p;

	if (make_plan(out, a, m, l, w, &how, err))
		return -1;
	if (how.pin && core_groups(out) <= 2) {
		/* a single group takes no turns, and need not keep others off */
		how.pin = false;
		if (make_plan(&p, a, m, l, w, &how, err))
			return -1;
		if (core_groups(&p) <= 1)
			*out = p;
		how.pin = w->pin;
	}
	if (how.could_be_apart && l->counters <= FEW_COUNTERS && core_groups(out) > 1) {
		how.apart = true;
		if (make_plan(&p, a, m, l, w, &how, err))
			return -1;
		how.apart = is_shorter(&p, out);
		if (how.apart)
			*out = p;
	}
	if (out->n_stages == 1 || 2 * out->groups_at_once <= out->groups_for_all ||
	    out->groups_for_all < WORTHWHILE)
		return 0;
	how.ahead = true;
	if (make_plan(&p, a, m, l, w, &how, err))
		return -1;
	if (is_shorter(&p, out))
		*out = p;
	return 0;
}
