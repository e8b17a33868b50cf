/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_pack - sets into as few groups as possible.
 *
 * Each set goes where it costs the fewest new events (best fit), else into a group of its own. Then
 * groups are dissolved: each of its sets must find room elsewhere, if need be by making one set
 * there move on, and that one another. Several orders are tried, the first by weight and size, the
 * rest shuffled by a generator that always starts the same. The search ends at a lower bound or
 * when its steps are used up.
 */
#include <string.h>

#include "model/plan/schedule_int.h"

#define STEPS_A_SET 1000 /* 150 sets, a whole tree: some milliseconds */
#define CHAIN	    3	 /* sets that may have to move on for one to be placed */
#define ORDERS_MAX  40

struct pack {
	struct sched *s;
	size_t bytes; /* of the bits of all groups */
	uint16_t *order;
	uint64_t *general; /* events that need a general counter, and so cost */
	uint32_t *size;	   /* general events, by set */
	uint64_t *tmp;	   /* one group */
	uint64_t random;
	struct sched_plan try[CHAIN + 2]; /* one for each depth to return to */
};

static size_t count_groups(const uint64_t *b, const uint64_t *mask, size_t words)
{
	size_t n = 0;

	for (size_t w = 0; w < words; w++)
		n += (size_t)__builtin_popcountll(b[w] & mask[w]);
	return n;
}

static bool is_set_inside(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t w = 0; w < words; w++)
		if (a[w] & ~b[w])
			return false;
	return true;
}

static int plan_alloc(struct pack *p, struct sched_plan *x, struct err *err)
{
	struct sched *s = p->s;

	x->n_groups = 0;
	x->group = arena_alloc(s->scratch, (s->n_sets + 1) * sizeof(*x->group));
	x->bits = arena_alloc(s->scratch, p->bytes);
	return x->group && x->bits ? 0 : err_nomem(err);
}

static void plan_copy(const struct sched *s, struct sched_plan *to, const struct sched_plan *from)
{
	to->n_groups = from->n_groups;
	memcpy(to->group, from->group, s->n_sets * sizeof(*to->group));
	memcpy(to->bits, from->bits, from->n_groups * s->words * sizeof(uint64_t));
}

static uint64_t *bits_of(const struct sched *s, const struct sched_plan *x, size_t group)
{
	return x->bits + group * s->words;
}

static const uint64_t *need_of(const struct sched *s, size_t set)
{
	return s->need + set * s->words;
}

/* The events of a group's sets but one. */
static void group_without(const struct sched *s, const struct sched_plan *x, size_t group,
			  size_t set, uint64_t *out)
{
	memset(out, 0, s->words * sizeof(uint64_t));
	for (size_t i = 0; i < s->n_sets; i++) {
		if (x->group[i] != group || i == set)
			continue;
		for (size_t w = 0; w < s->words; w++)
			out[w] |= need_of(s, i)[w];
	}
}

static void put(struct pack *p, struct sched_plan *x, size_t set, size_t group)
{
	uint64_t *b = bits_of(p->s, x, group);

	for (size_t w = 0; w < p->s->words; w++)
		b[w] |= need_of(p->s, set)[w];
	x->group[set] = (uint16_t)group;
}

/* The group where a set costs the fewest events; of equals the fullest. SCHED_NONE: no room. */
static size_t best_group(struct pack *p, const struct sched_plan *x, size_t set, size_t except)
{
	struct sched *s = p->s;
	size_t best = SCHED_NONE, best_cost = 0, best_fill = 0;

	for (size_t g = 0; g < x->n_groups; g++) {
		const uint64_t *b = bits_of(s, x, g), *need = need_of(s, set);
		size_t fill, cost;

		s->steps--;
		if (g == except)
			continue;
		fill = count_groups(b, p->general, s->words);
		for (size_t w = 0; w < s->words; w++)
			p->tmp[w] = b[w] | need[w];
		cost = count_groups(p->tmp, p->general, s->words) - fill;
		if (best != SCHED_NONE &&
		    (cost > best_cost || (cost == best_cost && fill <= best_fill)))
			continue;
		if (is_set_inside(need, b, s->words) || sched_fits(s, p->tmp)) {
			best = g;
			best_cost = cost;
			best_fill = fill;
		}
	}
	return best;
}

static bool place_set(struct pack *p, struct sched_plan *x, size_t set, size_t except,
		      unsigned depth);

/* Puts `set` into group g by making one set there, `out`, move on. */
static bool place_instead(struct pack *p, struct sched_plan *x, size_t set, size_t out, size_t g,
			  size_t except, unsigned depth)
{
	struct sched *s = p->s;
	struct sched_plan *saved = &p->try[depth];

	group_without(s, x, g, out, p->tmp);
	for (size_t w = 0; w < s->words; w++)
		p->tmp[w] |= need_of(s, set)[w];
	s->steps -= 2;
	/* if the others need all of the set that would move on, nothing is gained */
	if (is_set_inside(need_of(s, out), p->tmp, s->words) || !sched_fits(s, p->tmp))
		return false;
	plan_copy(s, saved, x);
	memcpy(bits_of(s, x, g), p->tmp, s->words * sizeof(uint64_t));
	x->group[set] = (uint16_t)g;
	x->group[out] = SCHED_NONE;
	if (place_set(p, x, out, except, depth - 1))
		return true;
	plan_copy(s, x, saved);
	return false;
}

static bool place_set(struct pack *p, struct sched_plan *x, size_t set, size_t except,
		      unsigned depth)
{
	struct sched *s = p->s;
	size_t g = best_group(p, x, set, except);

	if (g != SCHED_NONE) {
		put(p, x, set, g);
		return true;
	}
	if (!depth)
		return false;
	for (size_t i = s->n_have; i < s->n_sets && s->steps > 0; i++) {
		size_t o = p->order[i];

		g = x->group[o];
		if (g != SCHED_NONE && g != except && o != set && o >= s->n_have &&
		    place_instead(p, x, set, o, g, except, depth))
			return true;
	}
	return false;
}

/* Moves every set of a group elsewhere and closes it; `x` is as before if that fails. */
static bool dissolve(struct pack *p, struct sched_plan *x, struct sched_plan *saved, size_t g)
{
	struct sched *s = p->s;
	size_t last = x->n_groups - 1;

	plan_copy(s, saved, x);
	for (size_t i = s->n_have; i < s->n_sets; i++) {
		if (x->group[p->order[i]] != g)
			continue;
		x->group[p->order[i]] = SCHED_NONE;
		if (s->steps <= 0 || !place_set(p, x, p->order[i], g, CHAIN)) {
			plan_copy(s, x, saved);
			return false;
		}
	}
	memcpy(bits_of(s, x, g), bits_of(s, x, last), s->words * sizeof(uint64_t));
	for (size_t i = 0; i < s->n_sets; i++)
		if (x->group[i] == last)
			x->group[i] = (uint16_t)g;
	x->n_groups--;
	return true;
}

/* Dissolves groups, those with the fewest events first, until none can be. */
static void improve(struct pack *p, struct sched_plan *x, struct sched_plan *saved, size_t bound)
{
	struct sched *s = p->s;
	bool again = true;

	while (again && x->n_groups > bound && s->steps > 0) {
		again = false;
		for (size_t size = 0; size <= 64 && !again && s->steps > 0; size++) {
			for (size_t g = s->n_have; g < x->n_groups && !again; g++) {
				if (count_groups(bits_of(s, x, g), p->general, s->words) != size)
					continue;
				again = dissolve(p, x, saved, g);
			}
		}
	}
}

static void build(struct pack *p, struct sched_plan *x)
{
	struct sched *s = p->s;

	x->n_groups = s->n_have;
	memset(x->bits, 0, p->bytes);
	memset(x->group, 0xff, s->n_sets * sizeof(*x->group));
	for (size_t i = 0; i < s->n_have; i++)
		put(p, x, i, i);
	for (size_t i = s->n_have; i < s->n_sets; i++) {
		size_t g = best_group(p, x, p->order[i], SCHED_NONE);

		if (g == SCHED_NONE)
			g = x->n_groups++;
		put(p, x, p->order[i], g);
	}
}

/* No assignment can have fewer groups: counters for the events, and rules of one at a time. */
static size_t lower_bound(const struct pack *p)
{
	const struct sched *s = p->s;
	size_t bound = 0, alone = 0;

	for (size_t h = 0; h < s->n_halls; h++) {
		size_t n = count_groups(s->hall[h].events, s->hall[h].events, s->words);
		size_t beside =
			s->beside ? count_groups(s->hall[h].events, s->beside, s->words) : 0;
		size_t cap = s->hall[h].cap > beside ? s->hall[h].cap - beside : 0;

		n -= beside;
		if (cap && (n + cap - 1) / cap > bound)
			bound = (n + cap - 1) / cap;
	}
	for (size_t i = 0; i < s->n_ev; i++)
		alone += !!(s->ev[i].flags & EVENT_TAKEN_ALONE);
	bound = alone > bound ? alone : bound;
	return bound > s->n_have ? bound : s->n_have;
}

static bool goes_before(const struct pack *p, size_t a, size_t b, bool by_weight)
{
	const struct sched *s = p->s;

	if (by_weight && s->weight[a] != s->weight[b])
		return s->weight[a] > s->weight[b];
	if (p->size[a] != p->size[b])
		return p->size[a] > p->size[b];
	return a < b;
}

static void sort_order(struct pack *p, bool by_weight)
{
	for (size_t i = p->s->n_have + 1; i < p->s->n_sets; i++) {
		uint16_t v = p->order[i];
		size_t j = i;

		for (; j > p->s->n_have && goes_before(p, v, p->order[j - 1], by_weight); j--)
			p->order[j] = p->order[j - 1];
		p->order[j] = v;
	}
}

/* Another order near to the last: big sets still tend to come first. */
static void shake_order(struct pack *p)
{
	size_t first = p->s->n_have, n = p->s->n_sets - first;

	for (size_t i = 0; n > 1 && i < n / 2 + 1; i++) {
		size_t a, b;
		uint16_t v;

		p->random ^= p->random << 13;
		p->random ^= p->random >> 7;
		p->random ^= p->random << 17;
		a = first + p->random % n;
		b = first + (p->random >> 32) % n;
		v = p->order[a];
		p->order[a] = p->order[b];
		p->order[b] = v;
	}
}

static int pack_init(struct pack *p, struct sched *s, struct err *err)
{
	memset(p, 0, sizeof(*p));
	p->s = s;
	p->random = 0x9e3779b97f4a7c15ULL;
	p->bytes = (s->n_sets + 1) * s->words * sizeof(uint64_t);
	p->order = arena_alloc(s->scratch, (s->n_sets + 1) * sizeof(*p->order));
	p->general = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	p->tmp = arena_alloc(s->scratch, s->words * sizeof(uint64_t));
	p->size = arena_alloc(s->scratch, (s->n_sets + 1) * sizeof(*p->size));
	if (!p->order || !p->general || !p->tmp || !p->size)
		return err_nomem(err);
	for (size_t i = 0; i < s->n_ev; i++)
		if (s->ev[i].mask && !(s->ev[i].mask >> 32))
			bit_set(p->general, i);
	for (size_t i = 0; i < s->n_sets; i++) {
		p->order[i] = (uint16_t)i;
		p->size[i] = (uint32_t)count_groups(need_of(s, i), p->general, s->words);
	}
	for (size_t i = 0; i < CHAIN + 2; i++)
		if (plan_alloc(p, &p->try[i], err))
			return -1;
	return 0;
}

int sched_pack(struct sched *s, struct sched_plan *out, struct err *err)
{
	struct pack p;
	struct sched_plan x;
	size_t bound;

	if (pack_init(&p, s, err) || plan_alloc(&p, out, err) || plan_alloc(&p, &x, err))
		return -1;
	s->steps = STEPS_A_SET * (long)s->n_sets;
	bound = lower_bound(&p);
	sort_order(&p, true);
	build(&p, out);
	improve(&p, out, &p.try[CHAIN + 1], bound);
	for (unsigned i = 0; i < ORDERS_MAX && out->n_groups > bound && s->steps > 0; i++) {
		if (i)
			shake_order(&p);
		else
			sort_order(&p, false);
		build(&p, &x);
		improve(&p, &x, &p.try[CHAIN + 1], bound);
		if (x.n_groups < out->n_groups)
			plan_copy(s, out, &x);
	}
	return 0;
}
