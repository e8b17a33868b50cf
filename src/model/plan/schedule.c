/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule.c - from the sets asked for to groups: events that need no counter of the core are put
 * aside, sets inside others go with them, sets that no group can hold are cut, the rest is packed.
 */
#include <string.h>

#include "base/invariant.h"
#include "model/event_same.h"
#include "model/plan/schedule_int.h"

struct making {
	struct sched s;
	const struct schedule_set *set;
	size_t n;	 /* of sets asked for */
	uint16_t *local; /* by event of the model */
	uint32_t *twin;	 /* by event: the next name of the same counter, or MODEL_NONE */
	size_t n_twins;
	uint64_t *bits;	  /* [set * words] */
	uint32_t *inside; /* by set: the set that it is a part of, or its place to be packed */
	uint16_t *packed; /* by set: its number in s.need, or SCHED_NONE */
	bool *impossible; /* by event of the model */
	bool *aside;	  /* by event: asked for, but not of the core's counters */
	const struct schedule_group *have;
	uint32_t slots; /* of the model, or MODEL_NONE */
};

static bool off_core(const struct model_event *e)
{
	return e->flags & (EVENT_SOFTWARE | EVENT_UNCORE);
}

static uint32_t find_slots(const struct model *m)
{
	for (size_t i = 0; i < m->n_events; i++)
		if (m->event[i].flags & EVENT_SLOTS)
			return (uint32_t)i;
	return MODEL_NONE;
}

/* An event seen before that is the same counter under another name, or SCHED_NONE. A machine that
 * lets the two on different counters knows better than their encodings. */
static uint16_t find_same(const struct making *k, const struct sched_event *x)
{
	const struct sched *s = &k->s;
	const struct model_event *e = s->m->event;

	for (size_t i = 0; i < s->n_ev && x->encoding; i++)
		if (s->ev[i].encoding == x->encoding && s->ev[i].mask & x->mask &&
		    events_same(&e[s->ev[i].event], &e[x->event]))
			return (uint16_t)i;
	return SCHED_NONE;
}

static void add_twin(struct making *k, struct sched_event *first, uint32_t event)
{
	first->mask &= k->s.ev[k->s.n_ev].mask;
	k->twin[event] = k->twin[first->event];
	k->twin[first->event] = event;
	k->n_twins++;
}

/* Gives an event of the model a number, once. */
static int see_event(struct making *k, uint32_t event, struct err *err)
{
	struct sched *s = &k->s;

	if (event >= s->m->n_events)
		return err_set(err, ERR_USAGE, "event %u of a model of %zu", event, s->m->n_events);
	if (off_core(&s->m->event[event])) {
		k->aside[event] = true;
		return 0;
	}
	if (k->local[event] != SCHED_NONE || k->impossible[event])
		return 0;
	if (s->n_ev == SCHED_EVENTS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u events to schedule", SCHED_EVENTS_MAX);
	if (!sched_event_of(s, event, &s->ev[s->n_ev])) {
		k->impossible[event] = true;
		return 0;
	}
	k->local[event] = find_same(k, &s->ev[s->n_ev]);
	if (k->local[event] != SCHED_NONE) {
		add_twin(k, &s->ev[k->local[event]], event);
		return 0;
	}
	k->local[event] = (uint16_t)s->n_ev++;
	if (s->m->event[event].flags & EVENT_METRIC && k->slots != MODEL_NONE)
		return see_event(k, k->slots, err);
	return 0;
}

static bool is_beside(const struct making *k, size_t e)
{
	return k->s.beside && bit_test(k->s.beside, e);
}

/* Events with a rule that they break alone (a field of PERF_METRICS without slots, ...). */
static void drop_impossible(struct making *k, uint64_t *one)
{
	struct sched *s = &k->s;
	uint16_t slots = k->slots == MODEL_NONE ? SCHED_NONE : k->local[k->slots];

	for (size_t i = 0; i < s->n_ev; i++) {
		memset(one, 0, s->words * sizeof(uint64_t));
		bit_set(one, i);
		if (s->ev[i].flags & EVENT_METRIC && slots != SCHED_NONE && !is_beside(k, slots))
			bit_set(one, slots);
		if (is_beside(k, i) || !sched_broken(s, one))
			continue;
		for (uint32_t e = s->ev[i].event; e != MODEL_NONE; e = k->twin[e]) {
			k->impossible[e] = true;
			k->local[e] = SCHED_NONE;
		}
	}
}

static int see_events(struct making *k, size_t n_have, struct err *err)
{
	struct sched *s = &k->s;
	const struct schedule_limits *l = s->l;
	uint64_t *one;

	for (size_t i = 0; i < l->n_beside; i++)
		if (!off_core(&s->m->event[l->beside[i]]) && see_event(k, l->beside[i], err))
			return -1;
	for (size_t g = 0; g < n_have; g++)
		for (size_t i = 0; i < k->have[g].n; i++)
			if (see_event(k, k->have[g].event[i], err))
				return -1;
	for (size_t g = 0; g < k->n; g++)
		for (size_t i = 0; i < k->set[g].n; i++)
			if (see_event(k, k->set[g].event[i], err))
				return -1;
	s->words = (s->n_ev + l->n_held) / 64 + 1;
	one = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	if (l->n_beside || l->n_held)
		s->beside = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	if (!one || ((l->n_beside || l->n_held) && !s->beside))
		return err_nomem(err);
	for (size_t i = 0; i < l->n_beside; i++)
		if (k->local[l->beside[i]] != SCHED_NONE)
			bit_set(s->beside, k->local[l->beside[i]]);
	sched_held(s);
	drop_impossible(k, one);
	return 0;
}

/* The events of a list that take counters and do not count beside, with slots if fields of
 * PERF_METRICS are among them. */
static void list_bits(const struct making *k, const uint32_t *event, size_t n, uint64_t *out)
{
	bool metric = false, slots = false;

	for (size_t i = 0; i < n; i++) {
		uint16_t e = k->local[event[i]];

		if (e == SCHED_NONE || is_beside(k, e))
			continue;
		bit_set(out, e);
		metric |= !!(k->s.ev[e].flags & EVENT_METRIC);
		slots |= !!(k->s.ev[e].flags & EVENT_SLOTS);
	}
	if (metric && !slots)
		bit_set(out, k->local[k->slots]);
}

static bool subset(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t w = 0; w < words; w++)
		if (a[w] & ~b[w])
			return false;
	return true;
}

static bool empty(const uint64_t *a, size_t words)
{
	for (size_t w = 0; w < words; w++)
		if (a[w])
			return false;
	return true;
}

/* Sets inside another (of equal ones the first stays) go with it. */
static void find_insides(struct making *k)
{
	size_t words = k->s.words;

	for (size_t i = 0; i < k->n; i++) {
		const uint64_t *a = k->bits + i * words;

		k->inside[i] = (uint32_t)i;
		for (size_t j = 0; j < k->n; j++) {
			const uint64_t *b = k->bits + j * words;

			if (j == i || !subset(a, b, words) || (subset(b, a, words) && j > i))
				continue;
			k->inside[i] = (uint32_t)j;
			break;
		}
	}
	for (size_t i = 0; i < k->n; i++)
		while (k->inside[k->inside[i]] != k->inside[i])
			k->inside[i] = k->inside[k->inside[i]];
}

static uint64_t *need_add(struct sched *s, unsigned weight)
{
	s->weight[s->n_sets] = weight;
	return s->need + s->n_sets++ * s->words;
}

/* Events that cost no general counter: they go into every part of a set that is cut. */
static bool is_free(const struct sched_event *e)
{
	return e->flags & (EVENT_METRIC | EVENT_SLOTS) || e->mask >> 32;
}

/* Events for every part of a set that is cut: all that cost nothing, or if these are too many the
 * fields of PERF_METRICS and their slots. */
static void common_events(const struct making *k, const uint64_t *all, uint64_t *common)
{
	const struct sched *s = &k->s;

	for (size_t e = 0; e < s->n_ev; e++)
		if (bit_test(all, e) && is_free(&s->ev[e]))
			bit_set(common, e);
	if (!sched_broken(s, common))
		return;
	for (size_t e = 0; e < s->n_ev; e++)
		if (!(s->ev[e].flags & (EVENT_METRIC | EVENT_SLOTS)))
			common[e / 64] &= ~(1ULL << (e % 64));
}

/* A new part with this event, and with the common events if these fit. */
static void add_set_part(struct making *k, size_t set, size_t e, const uint64_t *common)
{
	struct sched *s = &k->s;
	uint64_t *part = need_add(s, k->set[set].weight);

	memcpy(part, common, s->words * sizeof(uint64_t));
	bit_set(part, e);
	if (sched_broken(s, part)) {
		memset(part, 0, s->words * sizeof(uint64_t));
		bit_set(part, e);
	}
}

static bool add_to_part(struct sched *s, size_t first, size_t e)
{
	for (size_t i = first; i < s->n_sets; i++) {
		uint64_t *part = s->need + i * s->words;

		bit_set(part, e);
		if (!sched_broken(s, part))
			return true;
		part[e / 64] &= ~(1ULL << (e % 64));
	}
	return false;
}

static int cut_order(const struct sched *s, size_t e)
{
	if (s->l->smt && s->ev[e].flags & EVENT_SMT_EXCLUSIVE)
		return -1;
	return __builtin_popcountll(s->ev[e].mask);
}

/* Cuts a set that no group can hold: events that block the other thread first, since few of it
 * fit beside anything else, then events with the fewest counters, each into the first part with
 * room. */
static int cut_set(struct making *k, size_t set, struct err *err)
{
	struct sched *s = &k->s;
	const uint64_t *all = k->bits + set * s->words;
	uint64_t *common = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	size_t first = s->n_sets;
	bool held = false;

	if (!common)
		return err_nomem(err);
	common_events(k, all, common);
	for (int width = -1; width <= 64; width++)
		for (size_t e = 0; e < s->n_ev; e++)
			if (bit_test(all, e) && !bit_test(common, e) && cut_order(s, e) == width &&
			    !add_to_part(s, first, e))
				add_set_part(k, set, e, common);
	for (size_t i = first; i < s->n_sets; i++)
		held |= subset(common, s->need + i * s->words, s->words);
	if (!held)
		memcpy(need_add(s, k->set[set].weight), common, s->words * sizeof(uint64_t));
	return 0;
}

static int list_needs(struct making *k, size_t n_have, struct schedule *out, uint32_t *split,
		      struct err *err)
{
	struct sched *s = &k->s;

	for (size_t g = 0; g < n_have; g++) {
		uint64_t *need = need_add(s, 0);

		list_bits(k, k->have[g].event, k->have[g].n, need);
	}
	s->n_have = n_have;
	for (size_t i = 0; i < k->n; i++) {
		const uint64_t *bits = k->bits + i * s->words;
		uint64_t *need;

		k->packed[i] = SCHED_NONE;
		if (empty(bits, s->words))
			continue;
		if (sched_broken(s, bits)) {
			split[out->n_split++] = (uint32_t)i;
			if (k->inside[i] == i && cut_set(k, i, err))
				return -1;
			continue;
		}
		/* a set inside one that is cut must still be whole somewhere */
		if (k->inside[i] != i && !sched_broken(s, k->bits + k->inside[i] * s->words))
			continue;
		need = need_add(s, k->set[i].weight);
		k->packed[i] = (uint16_t)(s->n_sets - 1);
		memcpy(need, bits, s->words * sizeof(uint64_t));
	}
	return 0;
}

static int order_of(const struct sched_event *e)
{
	return e->flags & EVENT_SLOTS ? 0 : e->flags & EVENT_METRIC ? 1 : e->mask >> 32 ? 2 : 3;
}

static int put_schedule_group(struct making *k, const uint64_t *bits, struct arena *a,
			      struct schedule_group *g, struct err *err)
{
	struct sched *s = &k->s;
	uint32_t *ev = arena_alloc(a, (s->n_ev + k->n_twins + 1) * sizeof(*ev));

	if (!ev)
		return err_nomem(err);
	g->event = ev;
	for (int o = 0; o < 4; o++)
		for (size_t i = 0; i < s->n_ev; i++)
			if (bit_test(bits, i) && order_of(&s->ev[i]) == o)
				for (uint32_t e = s->ev[i].event; e != MODEL_NONE; e = k->twin[e])
					ev[g->n++] = e;
	return 0;
}

/* Groups in the order in which the caller's sets want them: the heaviest first. */
static void rank_groups(const struct sched *s, const struct sched_plan *x, uint16_t *rank)
{
	size_t n = s->n_have;

	for (size_t i = 0; i < x->n_groups; i++)
		rank[i] = i < s->n_have ? (uint16_t)i : SCHED_NONE;
	while (n < x->n_groups) {
		size_t best = SCHED_NONE;

		for (size_t i = s->n_have; i < s->n_sets; i++)
			if (rank[x->group[i]] == SCHED_NONE &&
			    (best == SCHED_NONE || s->weight[i] > s->weight[best]))
				best = i;
		rank[x->group[best]] = (uint16_t)n++;
	}
}

static int put_core(struct making *k, const struct sched_plan *x, struct arena *a,
		    struct schedule *out, struct schedule_group *group, uint32_t *set_group,
		    struct err *err)
{
	struct sched *s = &k->s;
	uint16_t *rank = arena_alloc(s->scratch, (x->n_groups + 1) * sizeof(*rank));

	if (!rank)
		return err_nomem(err);
	rank_groups(s, x, rank);
	for (size_t g = 0; g < x->n_groups; g++)
		if (put_schedule_group(k, x->bits + g * s->words, a, &group[rank[g]], err))
			return -1;
	out->n_groups = out->n_core = x->n_groups;
	assert(all_hold(x->n_groups, g, rank[g] < x->n_groups));
	assert(all_hold(x->n_groups, g,
			rank[g] < s->n_have || !sched_broken(s, x->bits + g * s->words)));
	assert(all_hold(
		s->n_sets, i,
		subset(s->need + i * s->words, x->bits + x->group[i] * s->words, s->words)));
	for (size_t i = 0; i < k->n; i++) {
		const uint64_t *bits = k->bits + i * s->words;
		size_t lead = k->packed[i] == SCHED_NONE ? k->packed[k->inside[i]] : k->packed[i];
		uint32_t best = MODEL_NONE;

		set_group[i] = MODEL_NONE;
		if (empty(bits, s->words) || sched_broken(s, bits))
			continue;
		if (lead != SCHED_NONE)
			best = rank[x->group[lead]];
		/* of several groups that hold it the first: it is the likelier to count anyway */
		for (size_t g = 0; g < x->n_groups; g++)
			if (subset(bits, x->bits + g * s->words, s->words) && rank[g] < best)
				best = rank[g];
		set_group[i] = best;
	}
	return 0;
}

/* Events of other PMUs and software: a group for each PMU. */
static int put_aside(struct making *k, struct arena *a, struct schedule *out,
		     struct schedule_group *group, struct err *err)
{
	const struct model *m = k->s.m;

	for (size_t i = 0; i < m->n_events; i++) {
		struct schedule_group *g;
		uint32_t *ev;

		if (!k->aside[i])
			continue;
		g = &group[out->n_groups++];
		ev = arena_alloc(a, m->n_events * sizeof(*ev));
		if (!ev)
			return err_nomem(err);
		g->event = ev;
		for (size_t j = i; j < m->n_events; j++) {
			if (!k->aside[j] || strcmp(m->event[i].pmu, m->event[j].pmu) != 0)
				continue;
			ev[g->n++] = (uint32_t)j;
			k->aside[j] = j == i;
		}
		k->aside[i] = false;
	}
	return 0;
}

static int put_lists(struct making *k, struct arena *a, struct schedule *out, struct err *err)
{
	size_t n = k->s.m->n_events;
	uint32_t *home = arena_alloc(a, (n + 1) * sizeof(*home));
	uint32_t *impossible = arena_alloc(a, (n + 1) * sizeof(*impossible));

	if (!home || !impossible)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		home[i] = MODEL_NONE;
		if (k->impossible[i])
			impossible[out->n_impossible++] = (uint32_t)i;
	}
	for (size_t g = out->n_groups; g-- > 0;)
		for (size_t i = 0; i < out->group[g].n; i++)
			home[out->group[g].event[i]] = (uint32_t)g;
	assert(all_hold(k->n, i, k->packed[i] == SCHED_NONE || k->packed[i] < k->s.n_sets));
	assert(all_hold(n, i, home[i] == MODEL_NONE || !k->impossible[i]));
	out->home = home;
	out->impossible = impossible;
	return 0;
}

static int making_init(struct making *k, struct arena *scratch, size_t n_have, struct err *err)
{
	size_t n_events = k->s.m->n_events;
	struct sched *s = &k->s;

	k->local = arena_alloc(scratch, (n_events + 1) * sizeof(*k->local));
	k->twin = arena_alloc(scratch, (n_events + 1) * sizeof(*k->twin));
	k->impossible = arena_alloc(scratch, (n_events + 1) * sizeof(*k->impossible));
	k->aside = arena_alloc(scratch, (n_events + 1) * sizeof(*k->aside));
	s->ev = arena_alloc(scratch, (n_events + SCHEDULE_HELD + 1) * sizeof(*s->ev));
	if (!k->local || !k->twin || !k->impossible || !k->aside || !s->ev)
		return err_nomem(err);
	memset(k->local, 0xff, (n_events + 1) * sizeof(*k->local));
	memset(k->twin, 0xff, (n_events + 1) * sizeof(*k->twin));
	k->slots = find_slots(s->m);
	if (sched_counters(s, err) || see_events(k, n_have, err))
		return -1;
	k->bits = arena_alloc(scratch, (k->n + 1) * s->words * sizeof(uint64_t));
	k->inside = arena_alloc(scratch, (k->n + 1) * sizeof(*k->inside));
	k->packed = arena_alloc(scratch, (k->n + 1) * sizeof(*k->packed));
	if (!k->bits || !k->inside || !k->packed)
		return err_nomem(err);
	s->sets_max = n_have + k->n;
	for (size_t i = 0; i < k->n; i++) {
		list_bits(k, k->set[i].event, k->set[i].n, k->bits + i * s->words);
		if (sched_broken(s, k->bits + i * s->words))
			s->sets_max += k->set[i].n + 1;
	}
	if (s->sets_max > SCHED_SETS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u sets of events", SCHED_SETS_MAX);
	s->need = arena_alloc(scratch, (s->sets_max + 1) * s->words * sizeof(uint64_t));
	s->weight = arena_alloc(scratch, (s->sets_max + 1) * sizeof(*s->weight));
	if (!s->need || !s->weight)
		return err_nomem(err);
	find_insides(k);
	return sched_bounds(s, err);
}

int schedule_more(struct schedule *out, struct arena *a, const struct model *m,
		  const struct schedule_limits *l, const struct schedule_group *have, size_t n_have,
		  const struct schedule_set *set, size_t n, struct err *err)
{
	struct arena scratch = ARENA_INIT;
	struct making k = {
		.s = { .m = m, .l = l, .scratch = &scratch }, .set = set, .n = n, .have = have
	};
	struct schedule_group *group;
	uint32_t *set_group, *split;
	struct sched_plan x;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (n > SCHED_SETS_MAX || n_have > SCHED_SETS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u sets of events", SCHED_SETS_MAX);
	set_group = arena_alloc(a, (n + 1) * sizeof(*set_group));
	split = arena_alloc(a, (n + 1) * sizeof(*split));
	if (!set_group || !split) {
		err_nomem(err);
		goto out;
	}
	if (making_init(&k, &scratch, n_have, err) || list_needs(&k, n_have, out, split, err) ||
	    sched_pack(&k.s, &x, err))
		goto out;
	group = arena_alloc(a, (x.n_groups + m->n_events + 1) * sizeof(*group));
	if (!group) {
		err_nomem(err);
		goto out;
	}
	out->group = group;
	out->set_group = set_group;
	out->split = split;
	if (put_core(&k, &x, a, out, group, set_group, err) || put_aside(&k, a, out, group, err) ||
	    put_lists(&k, a, out, err))
		goto out;
	rc = 0;
out:
	arena_free(&scratch);
	return rc;
}

int schedule_make(struct schedule *out, struct arena *a, const struct model *m,
		  const struct schedule_limits *l, const struct schedule_set *set, size_t n,
		  struct err *err)
{
	return schedule_more(out, a, m, l, NULL, 0, set, n, err);
}
