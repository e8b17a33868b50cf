/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/profile/profile_count.h"

#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/hash.h"

#define SLOTS_FIRST 64u
#define SLOTS_LARGE 65536u
#define PERIODS_MAX 8u

/* The different periods of an event, while they are few. */
struct count_periods {
	uint64_t v[PERIODS_MAX];
	unsigned n;
	bool many;
};

static unsigned shift_of(size_t cap)
{
	return 64 - (unsigned)__builtin_ctzll(cap);
}

int counts_init(struct counts *c, size_t n_events, uint64_t samples)
{
	size_t cap = SLOTS_FIRST;

	/* 1 MB at most: the processor's own cache holds it, and clearing it takes a while */
	while (cap < SLOTS_LARGE && cap < samples / 8 + 2 * (samples < 2048 ? samples : 2048))
		cap *= 2;
	memset(c, 0, sizeof(*c));
	c->periods = calloc(n_events + 1, sizeof(*c->periods));
	c->slot = big_zeros(cap, sizeof(*c->slot));
	c->cap = cap;
	c->full = COUNT_MORE - 1;
	c->shift = shift_of(c->cap);
	/* so that no file can be made whose addresses meet in one place */
	c->seed = hash_u64((uint64_t)(uintptr_t)c->slot ^ (uint64_t)(uintptr_t)c);
	c->seed2 = hash_u64(c->seed);
	return c->periods && c->slot ? 0 : -1;
}

void counts_free(struct counts *c)
{
	free(c->slot);
	free(c->periods);
	vec_free(&c->group);
	vec_free(&c->more);
	itab_free(&c->group_at);
	memset(c, 0, sizeof(*c));
}

/* ---- groups ---- */

static uint64_t group_hash(const struct count_group *g, uint64_t seed)
{
	uint64_t h = hash_pair((uint64_t)g->image << 32 | g->event, g->comm ^ seed);

	h = hash_pair(h ^ g->kind, g->cgroup);
	return hash_pair(h ^ g->cpu, (uint64_t)g->pid << 32 | g->tid);
}

static bool same_group(const struct count_group *a, const struct count_group *b)
{
	return a->comm == b->comm && a->image == b->image && a->event == b->event &&
	       a->kind == b->kind && a->tid == b->tid && a->pid == b->pid && a->cpu == b->cpu &&
	       a->cgroup == b->cgroup && a->period == b->period && a->varies == b->varies;
}

/* `g` is complete. */
static uint32_t group_add(struct counts *c, const struct count_group *g)
{
	uint64_t h = hash_pair(g->hash, g->period ^ g->varies);
	uint32_t idx;

	for (size_t i = itab_first(&c->group_at, h); itab_at(&c->group_at, &i, h, &idx);)
		if (same_group(&c->group.v[idx], g))
			return idx;
	if (vec_reserve(&c->group, c->group.n + 1) || itab_put(&c->group_at, h, c->group.n))
		return ITAB_NONE;
	c->group.v[c->group.n] = *g;
	c->group.v[c->group.n].slots = 0;
	return (uint32_t)c->group.n++;
}

static bool many_periods(struct count_periods *p, uint64_t period)
{
	for (unsigned i = 0; !p->many && i < p->n; i++)
		if (p->v[i] == period)
			return false;
	if (p->n < PERIODS_MAX)
		p->v[p->n++] = period;
	else
		p->many = true;
	return p->many;
}

bool counts_vary(const struct counts *c, uint32_t event)
{
	return c->periods[event].many;
}

uint32_t counts_group(struct counts *c, const struct count_group *key)
{
	struct count_group g = *key;

	g.hash = group_hash(&g, c->seed);
	g.varies = many_periods(&c->periods[g.event], g.period);
	if (g.varies)
		g.period = 0;
	return group_add(c, &g);
}

/* ---- slots ---- */

static uint64_t slot_hash(const struct counts *c, const struct count_slot *o)
{
	return count_hash(c, o->addr, o->group);
}

static int grow(struct counts *c)
{
	size_t cap = c->cap * 2;
	struct count_slot *v = big_zeros(cap, sizeof(*v));

	if (!v)
		return -1;
	c->shift = shift_of(cap);
	for (size_t i = 0; i < c->cap; i++) {
		const struct count_slot *o = &c->slot[i];
		size_t at;

		if (!o->n)
			continue;
		at = (size_t)(slot_hash(c, o) >> c->shift);
		while (v[at].n)
			at = (at + 1) & (cap - 1);
		v[at] = *o;
	}
	free(c->slot);
	c->slot = v;
	c->cap = cap;
	return 0;
}

/* Returns the slot of that address and group; an empty one gets its address and group. */
static struct count_slot *slot_at(struct counts *c, uint64_t addr, uint32_t group, uint64_t hash)
{
	size_t at = (size_t)(hash >> c->shift);
	struct count_slot *o = &c->slot[at];

	while (o->n && (o->addr != addr || o->group != group)) {
		at = (at + 1) & (c->cap - 1);
		o = &c->slot[at];
	}
	o->addr = addr;
	o->group = group;
	return o;
}

/* Uses a slot that was empty. */
static void slot_new(struct counts *c, const struct count_slot *o)
{
	c->n++;
	c->group.v[o->group].slots++;
}

/* Returns the weight that a slot of a group that varies leads to. */
static struct weight *slot_weight(struct counts *c, struct count_slot *o)
{
	if (!o->n) {
		if (c->more.n >= COUNT_MORE || vec_push(&c->more, ((struct weight){ 0, 0, 0 })))
			return NULL;
		o->n = COUNT_MORE + (uint32_t)c->more.n - 1;
		slot_new(c, o);
	}
	return &c->more.v[o->n - COUNT_MORE];
}

/* More samples than a slot can count: they go to a group like its own that varies. */
static int slot_empty(struct counts *c, struct count_slot *o)
{
	struct count_group g = c->group.v[o->group];
	uint64_t period = g.period, n = o->n, addr = o->addr;
	struct weight *w;
	uint32_t at;

	o->n = 1; /* the one that comes now */
	g.period = 0;
	g.varies = true;
	at = group_add(c, &g);
	w = at == ITAB_NONE ? NULL : slot_weight(c, slot_at(c, addr, at, count_hash(c, addr, at)));
	if (!w)
		return -1;
	weight_add_n(w, n, period);
	return 0;
}

int counts_put_other(struct counts *c, uint64_t addr, uint32_t group, uint64_t hash,
		     uint64_t period)
{
	struct count_slot *o = slot_at(c, addr, group, hash);

	if (c->group.v[group].varies) {
		struct weight *w = slot_weight(c, o);

		if (!w)
			return -1;
		weight_add(w, period);
	} else if (o->n == c->full) {
		if (slot_empty(c, o))
			return -1;
	} else if (!o->n++) {
		slot_new(c, o);
	}
	return c->n * 4 > c->cap * 3 ? grow(c) : 0;
}

int counts_settle(struct counts *c)
{
	const struct count_wait *end = c->wait + c->n_wait;

	for (const struct count_wait *x = c->wait; x < end; x++) {
		struct count_slot *o = &c->slot[x->hash >> c->shift];

		/* the rule: it was met before, and its period is its group's */
		if (count_slot_fits(c, o, x->addr, x->group))
			o->n++;
		else if (counts_put_other(c, x->addr, x->group, x->hash, x->period))
			return -1;
	}
	c->n_wait = 0;
	return 0;
}
