/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile_count - counts samples by place and by the other keys of rows.
 *
 * All that samples have in common besides their address (image, event, thread's name, ...) is a
 * group; there are few, and a caller may remember the number of the last. A slot of the table is an
 * address and a group in 16 bytes, so that the table of a long recording fits the processor's
 * caches; additions wait for one another, so that its lines are asked for ahead.
 *
 *	counts_init(&c, n_events, samples)
 *	g = counts_group(&c, &key)	g is good for samples for which counts_fits() returns true
 *	counts_add(&c, addr, g, period)
 *	counts_settle(&c)		before the slots are read
 *	counts_free(&c)
 *
 * A group also has the period of its samples, so that a slot needs only their number. If an event's
 * periods have more than a few values, its groups `vary`, and a slot leads to a weight.
 */
#ifndef CYCLADE_ANALYSE_PROFILE_PROFILE_COUNT_H
#define CYCLADE_ANALYSE_PROFILE_PROFILE_COUNT_H

#include "analyse/itab.h"
#include "base/vec.h"

__extension__ typedef unsigned __int128 uint128;

/* A tally while it is being added to. */
struct weight {
	uint64_t samples, period;
	uint128 period_sq;
};

static inline void weight_add_n(struct weight *w, uint64_t n, uint64_t period)
{
	w->samples += n;
	w->period += n * period;
	w->period_sq += (uint128)period * period * n;
}

static inline void weight_add(struct weight *w, uint64_t period)
{
	weight_add_n(w, 1, period);
}

static inline void weight_sum(struct weight *w, const struct weight *more)
{
	w->samples += more->samples;
	w->period += more->period;
	w->period_sq += more->period_sq;
}

/* Keys that were not asked for are 0. */
struct count_group {
	uint64_t hash; /* of the fields below but the period; keyed, so that no file can foresee
		        * it */
	uint64_t comm, cgroup;
	uint64_t period; /* of each sample; 0 if they vary */
	uint32_t image, event, pid, tid, cpu;
	uint32_t slots; /* addresses counted; no part of the key */
	uint8_t kind;	/* enum space_kind */
	bool varies;
};

struct count_slot {
	uint64_t addr;
	uint32_t group;
	uint32_t n; /* samples; 0: empty; COUNT_MORE and more: place in `more` */
};

#define COUNT_MORE 0x80000000u

#define COUNT_WAIT 32u

struct counts {
	struct count_slot *slot; /* open addressing */
	size_t n, cap;
	unsigned shift; /* of a hash, to its slot */
	VEC(struct count_group) group;
	struct itab group_at;
	VEC(struct weight) more;
	struct count_periods *periods; /* by event */
	uint64_t seed, seed2;
	struct count_wait {
		uint64_t addr, hash, period;
		uint32_t group;
	} wait[COUNT_WAIT];
	unsigned n_wait;
	uint32_t full; /* greatest number of samples in a slot, below COUNT_MORE */
};

/* `samples`: about how many will come, or 0. */
int counts_init(struct counts *c, size_t n_events, uint64_t samples) MUST_USE;
void counts_free(struct counts *c);

/* Returns the group of that key (its hash and `varies` need not be set); ITAB_NONE when out of
 * memory. */
uint32_t counts_group(struct counts *c, const struct count_group *key) MUST_USE;
int counts_settle(struct counts *c) MUST_USE;

/* Returns true if the group is one for samples of that period, too. */
static inline bool counts_fits(const struct counts *c, uint32_t group, uint64_t period)
{
	const struct count_group *g = &c->group.v[group];

	return g->period == period || g->varies;
}

/* Returns true if an event's periods turned out to vary: its groups do from then on. */
bool counts_vary(const struct counts *c, uint32_t event);

static inline uint64_t count_hash(const struct counts *c, uint64_t addr, uint32_t group)
{
	uint128 x = (uint128)(addr ^ c->seed) * (group * 0x9e3779b97f4a7c15ULL ^ c->seed2);

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

int counts_put_other(struct counts *c, uint64_t addr, uint32_t group, uint64_t hash,
		     uint64_t period) MUST_USE;

/* Returns true if the slot was used before, can count one more by its number alone, and its group
 * does not vary: one comparison for all three. */
static inline bool count_slot_fits(const struct counts *c, const struct count_slot *o,
				   uint64_t addr, uint32_t group)
{
	return o->addr == addr && o->group == group && o->n - 1 < c->full - 1;
}

/* `group` is one for which counts_fits() returns true. */
static inline int counts_add(struct counts *c, uint64_t addr, uint32_t group, uint64_t period)
{
	uint64_t hash = count_hash(c, addr, group);
	struct count_wait *x = &c->wait[c->n_wait];

	__builtin_prefetch(&c->slot[hash >> c->shift], 1);
	x->addr = addr;
	x->hash = hash;
	x->period = period;
	x->group = group;
	return ++c->n_wait == COUNT_WAIT ? counts_settle(c) : 0;
}

#endif
