/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule_int - the problem of schedule.c in numbers of its own.
 *
 * Events are numbered from 0 in order of first use, sets of them are bit sets of `words` words.
 * A counter is a bit of 64: general n is bit n, fixed n is bit 32 + n.
 */
#ifndef CYCLADE_MODEL_SCHEDULE_INT_H
#define CYCLADE_MODEL_SCHEDULE_INT_H

#include "model/schedule.h"

#define SCHED_EVENTS_MAX 4096u
#define SCHED_SETS_MAX	 4096u
#define SCHED_NONE	 UINT16_MAX
#define SCHED_HALLS	 24
#define GENERAL_BITS	 0xffffffffULL

enum sched_register { REG_OFFCORE, REG_FRONTEND, REG_LDLAT, REG_COUNT };

struct sched_event {
	uint32_t event;		   /* of the model */
	unsigned flags;		   /* enum model_event_flag */
	uint64_t mask;		   /* counters; 0: takes none (a field of PERF_METRICS) */
	uint64_t encoding;	   /* equal if two names may be one counter; 0: never */
	uint64_t value[REG_COUNT]; /* value that it needs in a register; 0: does not need it */
};

/* Events whose masks lie inside `within` can be no more than `cap`: half of Hall's theorem, enough
 * to turn most groups down without a matching. */
struct sched_hall {
	uint64_t within;
	unsigned cap;
	uint64_t *events;
};

#define SCHED_BESIDE(s, w) ((s)->beside ? (s)->beside[w] : 0)

struct sched {
	const struct model *m;
	const struct schedule_limits *l;
	struct arena *scratch;
	uint64_t avail; /* counters that are ours, reserved ones of unknown identity included */
	uint64_t *held; /* every choice of the reserved ones: [0] of one choice is 0 */
	size_t n_held;
	struct sched_event *ev;
	size_t n_ev, words;
	uint64_t *beside; /* events that always count, in no group; NULL: none */
	struct sched_hall hall[SCHED_HALLS];
	size_t n_halls;
	uint64_t *need;	  /* [set * words]: sets to place, the groups that were there first */
	unsigned *weight; /* by set */
	size_t n_sets, n_have, sets_max;
	long steps; /* of searching that are left */
};

/* An assignment of sets to groups. */
struct sched_plan {
	size_t n_groups;
	uint16_t *group; /* by set */
	uint64_t *bits;	 /* [group * words]: events */
};

static inline bool bit_test(const uint64_t *b, size_t i)
{
	return b[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *b, size_t i)
{
	b[i / 64] |= 1ULL << (i % 64);
}

/* schedule_match.c */

/* The counters that the limits leave, and possible places of reserved counters. */
int sched_counters(struct sched *s, struct err *err) MUST_USE;
/* How one event sees the counters. False: none can take it, whatever else there is. */
bool sched_event_of(const struct sched *s, uint32_t event, struct sched_event *out);
/* Others' events among those that always count; ev and beside have room. */
void sched_held(struct sched *s);
/* The rule that a group of events (a bit set) breaks beside those that always count, or NULL. */
const char *sched_broken(const struct sched *s, const uint64_t *bits);
/* The counters of a group that fits: by local number, 64 if it takes none. */
bool sched_assign(const struct sched *s, const uint64_t *bits, uint8_t *counter);
/* Once all events are known: the bounds that make refusing cheap. */
int sched_bounds(struct sched *s, struct err *err) MUST_USE;
/* As sched_broken() == NULL, counting a step. */
bool sched_fits(struct sched *s, const uint64_t *bits);

/* schedule_pack.c: the best assignment found; `set` numbers below n_have are groups already. */
int sched_pack(struct sched *s, struct sched_plan *out, struct err *err) MUST_USE;

#endif
