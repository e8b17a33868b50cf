/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - stages of metrics, and the groups that each adds.
 */

#include <string.h>

#include "model/plan_int.h"

static bool is_node(const struct model_metric *x)
{
	return x->level > 0;
}

static bool deep_enough(const struct planning *k, const struct model_metric *x)
{
	return is_node(x) && (!k->w->level || x->level <= k->w->level);
}

static bool named(const struct plan_wish *w, uint32_t metric)
{
	for (size_t i = 0; i < w->n_metrics; i++)
		if (w->metric[i] == metric)
			return true;
	return false;
}

static int choose(struct planning *k, struct err *err)
{
	for (size_t i = 0; i < k->w->n_metrics; i++) {
		if (k->w->metric[i] >= k->m->n_metrics)
			return err_set(err, ERR_USAGE, "metric %u of a model of %zu",
				       k->w->metric[i], k->m->n_metrics);
		k->wanted[k->w->metric[i]] = true;
	}
	for (size_t i = 0; i < k->m->n_metrics && !k->w->no_tree; i++)
		if (deep_enough(k, &k->m->metric[i]))
			k->wanted[i] = true;
	return 0;
}

/* --- the sets of one stage --- */

/* An event of the core's counters that is not pinned. */
static bool takes_turns(const struct planning *k, uint32_t event)
{
	if (k->m->event[event].flags & (EVENT_SOFTWARE | EVENT_UNCORE))
		return false;
	for (size_t i = 0; i < k->l.n_beside; i++)
		if (k->l.beside[i] == event)
			return false;
	return true;
}

static int push_set(struct planning *k, struct stage_sets *out, const uint64_t *bits,
		    uint32_t metric, unsigned weight, struct err *err)
{
	struct schedule_set *set = &out->set[out->n];
	uint32_t *ev = arena_alloc(&k->scratch, (bits_count(bits, k->words) + 2) * sizeof(*ev));
	bool turns = false;

	if (!ev)
		return err_nomem(err);
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < k->m->n_used; i++) {
		if (!bit_test(bits, i))
			continue;
		ev[set->n++] = (uint32_t)i;
		turns |= takes_turns(k, (uint32_t)i);
	}
	if (turns && k->filler != MODEL_NONE && !bit_test(bits, k->filler))
		ev[set->n++] = k->filler;
	set->event = ev;
	set->weight = weight;
	out->metric[out->n++] = metric;
	return 0;
}

static unsigned weight_of(const struct planning *k, uint32_t metric)
{
	unsigned level = k->m->metric[metric].level;

	return level ? 16 - (level < 15 ? level : 15) : named(k->w, metric) ? 16 : 0;
}

/* The metric's set, and where that does not hold all of it those of what it refers to. */
static int add_metric(struct planning *k, struct stage_sets *out, uint32_t metric, struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	bool whole = !k->w->loose && x->fits;
	int rc;

	if (out->seen[metric])
		return 0;
	out->seen[metric] = true;
	rc = push_set(k, out, whole ? x->full : x->tight, metric, weight_of(k, metric), err);
	for (size_t i = 0; !rc && !whole && i < metric; i++)
		if (bit_test(x->nodes, i))
			rc = add_metric(k, out, (uint32_t)i, err);
	return rc;
}

/* What its threshold asks for: the events need not be in the metric's group. */
static int add_threshold(struct planning *k, struct stage_sets *out, uint32_t metric,
			 struct err *err)
{
	const struct metric_needs *x = &k->needs[metric];
	int rc = 0;

	if (x->has_threshold)
		rc = push_set(k, out, x->threshold, MODEL_NONE, 0, err);
	for (size_t i = 0; !rc && i < k->m->n_metrics; i++)
		if (bit_test(x->threshold_metrics, i))
			rc = add_metric(k, out, (uint32_t)i, err);
	return rc;
}

static int stage_sets_of(struct planning *k, struct stage_sets *out, uint32_t under, bool all,
			 struct err *err)
{
	out->n = 0;
	memset(out->seen, 0, k->m->n_metrics * sizeof(*out->seen));
	out->n_asked = 0;
	for (size_t i = 0; i < k->m->n_metrics; i++) {
		const struct model_metric *x = &k->m->metric[i];
		bool first = named(k->w, (uint32_t)i) || all ||
			     (x->level == 1 || x->parent == MODEL_NONE);

		if (!k->wanted[i] || (under == MODEL_NONE ? !first : first || x->parent != under))
			continue;
		out->asked[out->n_asked++] = (uint32_t)i;
		if (add_metric(k, out, (uint32_t)i, err) ||
		    (k->w->thresholds && add_threshold(k, out, (uint32_t)i, err)))
			return -1;
	}
	return 0;
}

static int sets_init(struct planning *k, struct stage_sets *s, struct err *err)
{
	size_t n = k->m->n_metrics;

	s->set = arena_alloc(&k->scratch, (2 * n + 1) * sizeof(*s->set));
	s->metric = arena_alloc(&k->scratch, (2 * n + 1) * sizeof(*s->metric));
	s->asked = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->asked));
	s->seen = arena_alloc(&k->scratch, (n + 1) * sizeof(*s->seen));
	return s->set && s->metric && s->asked && s->seen ? 0 : err_nomem(err);
}

/* --- stages --- */

/* A group of the plan with these events, or MODEL_NONE. */
static uint32_t find_group(const struct planning *k, const struct schedule_group *g)
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

/* The groups of a schedule become the plan's; `number` says which is which. */
static int take_groups(struct planning *k, const struct schedule *s, const uint32_t *have,
		       size_t n_have, uint32_t *number, struct err *err)
{
	for (size_t g = 0; g < s->n_groups; g++) {
		uint32_t at = g < n_have ? have[g] : find_group(k, &s->group[g]);

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
	for (size_t i = 0; i < x->n; i++)
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
	if (stage_sets_of(k, x, under, all, err))
		return -1;
	if (!x->n && under != MODEL_NONE)
		return 0;
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

/* Stages under nodes, those nearest to the root first: they get the room that is left. */
static int add_stages(struct planning *k, struct stage_sets *x, struct err *err)
{
	if (add_stage(k, x, MODEL_NONE, k->w->all || k->w->no_tree, err))
		return -1;
	for (unsigned level = 1; level < 8 && !k->w->all && !k->w->no_tree; level++)
		for (size_t i = 0; i < k->m->n_metrics; i++)
			if (k->m->metric[i].level == level && k->wanted[i] &&
			    add_stage(k, x, (uint32_t)i, false, err))
				return -1;
	return 0;
}

/* --- what the whole comes to --- */

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
	if (stage_sets_of(k, x, MODEL_NONE, true, err) ||
	    schedule_make(&s, &k->scratch, k->m, &k->l, x->set, x->n, err))
		return -1;
	*out = (unsigned)s.n_core + k->group[0].pinned;
	return 0;
}

/* Whether a group, and what is pinned, have all of these. */
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

/* Of the groups that count when a stage is open, the one that has all of a metric's events. */
static void find_metric_groups(const struct planning *k, uint32_t *metric_group)
{
	memset(metric_group, 0xff, k->m->n_metrics * sizeof(*metric_group));
	for (size_t s = 0; s < k->n_stages; s++) {
		const struct plan_stage *st = &k->stage[s];

		for (size_t i = 0; i < st->n_metrics; i++) {
			const struct metric_needs *x = &k->needs[st->metric[i]];
			const uint64_t *bits = x->fits && !k->w->loose ? x->full : x->tight;
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

static int finish(struct planning *k, struct plan *out, struct err *err)
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
	return plan_latencies(k, out, err);
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

static int make(struct plan *out, struct arena *a, const struct model *m,
		const struct schedule_limits *l, const struct plan_wish *w, struct err *err)
{
	struct planning k = {
		.m = m, .l = *l, .w = w, .a = a, .scratch = ARENA_INIT, .filler = MODEL_NONE
	};
	struct stage_sets x;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (planning_init(&k, err) || choose(&k, err) || plan_pin(&k, err) || plan_fits(&k, err) ||
	    sets_init(&k, &x, err) || add_stages(&k, &x, err) ||
	    count_all(&k, &x, &out->groups_for_all, err) || finish(&k, out, err))
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

int plan_make(struct plan *out, struct arena *a, const struct model *m,
	      const struct schedule_limits *l, const struct plan_wish *w, struct err *err)
{
	struct plan_wish plain = *w;
	struct plan p;

	if (make(out, a, m, l, w, err))
		return -1;
	if (!w->pin || core_groups(out) > 2)
		return 0;
	/* what fits in one group takes no turns, and need not keep others off */
	plain.pin = false;
	if (make(&p, a, m, l, &plain, err))
		return -1;
	if (core_groups(&p) <= 1)
		*out = p;
	return 0;
}

void plan_print(struct buf *out, const struct plan *p, const struct model *m,
		const struct schedule_limits *l)
{
	struct schedule_limits with = *l;

	for (size_t s = 0; s < p->n_stages; s++) {
		const struct plan_stage *x = &p->stage[s];

		buf_printf(out, "stage %zu %s:", s,
			   x->under == MODEL_NONE ? "always" : m->metric[x->under].path);
		for (size_t i = 0; i < x->n_groups; i++)
			buf_printf(out, " %u", x->group[i]);
		buf_puts(out, "\n");
		for (size_t i = 0; i < x->n_metrics; i++) {
			uint32_t g = p->metric_group[x->metric[i]];

			buf_printf(out, "\t%s", m->metric[x->metric[i]].path);
			if (g != MODEL_NONE)
				buf_printf(out, " %u\n", g);
			else
				buf_puts(out, p->mixed[x->metric[i]] ? " mixed\n" : " -\n");
		}
	}
	if (p->n_groups && p->group[0].pinned) {
		with.beside = p->group[0].event;
		with.n_beside = p->group[0].n;
	}
	for (size_t g = 0; g < p->n_groups; g++) {
		const struct plan_group *x = &p->group[g];

		buf_printf(out, "group %zu%s%s: ", g, x->core ? "" : " aside",
			   x->pinned ? " always" : "");
		schedule_print_group(out, m, x->pinned ? l : &with, x->event, x->n);
		buf_puts(out, "\n");
	}
	for (size_t i = 0; i < p->n_impossible; i++)
		buf_printf(out, "impossible: %s\n", m->event[p->impossible[i]].name);
	for (size_t i = 0; i < p->n_latency; i++)
		buf_printf(out, "latency: %s\n", m->event[p->latency[i]].name);
	for (size_t g = 0; g < p->n_samplers; g++) {
		buf_printf(out, "sampled together %zu: ", g);
		schedule_print_group(out, m, l, p->sampler[g].event, p->sampler[g].n);
		buf_puts(out, "\n");
	}
	buf_printf(out, "groups for all: %u\n", p->groups_for_all);
}
