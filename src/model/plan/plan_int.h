/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_int - shared by the files of plan.
 */
#ifndef CYCLADE_MODEL_PLAN_INT_H
#define CYCLADE_MODEL_PLAN_INT_H

#include "model/plan.h"

#define PLAN_GROUPS_MAX 512u

/* Bit sets over events (k->words) and metrics (k->metric_words). */
struct metric_needs {
	uint64_t *own;	 /* events that the formula itself refers to */
	uint64_t *refs;	 /* metrics that it refers to */
	uint64_t *full;	 /* events, with those of all that the formula refers to */
	uint64_t *tight; /* events, with those of referred-to metrics that are no nodes */
	uint64_t *nodes; /* nodes that it refers to, through other metrics */
	uint64_t *aux;	 /* metrics that are no nodes, likewise */
	uint64_t *threshold, *threshold_metrics; /* the threshold's own */
	uint64_t *latency; /* events whose retire latency it needs, or a metric that it refers to */
	bool fits_asked, fits; /* plan_fits() */
	bool has_threshold;    /* with events of its own */
};

struct stage_sets {
	struct schedule_set *set;
	uint32_t *metric; /* by set: whose it is, MODEL_NONE: a threshold's */
	size_t n, n_own;  /* the first n_own are the stage's own, the others are below it */
	uint32_t *asked;  /* metrics of the stage */
	size_t n_asked;
	bool *seen; /* by metric: its set is there */
};

struct planning {
	const struct model *m;
	struct schedule_limits l; /* beside: the pinned group */
	const struct plan_wish *w;
	struct arena *a, scratch;
	size_t words, metric_words;
	struct metric_needs *needs; /* by metric */
	bool *wanted, *mixed;
	bool apart;	  /* values that many formulas refer to are counted once, apart from them */
	bool ahead;	  /* a stage keeps room for the stages below it */
	uint64_t *common; /* that: metrics */
	bool any_common;  /* there is such */
	uint32_t filler;  /* goes into every set: cycles beside the pinned group; MODEL_NONE */
	struct plan_group *group;
	size_t n_groups;
	struct plan_stage *stage;
	size_t n_stages;
	uint32_t *impossible;
	size_t n_impossible;
	struct {
		uint64_t *fits;	 /* there is a counter for it; on the core */
		uint32_t leader; /* slots, or MODEL_NONE */
		uint32_t *list;	 /* room for a group */
	} event;
};

static inline bool bit_test(const uint64_t *b, size_t i)
{
	return b[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *b, size_t i)
{
	b[i / 64] |= 1ULL << (i % 64);
}

/* The first bit that is set from `i` on, or `end`. */
static inline size_t bit_next(const uint64_t *b, size_t i, size_t end)
{
	while (i < end) {
		uint64_t rest = b[i / 64] >> (i % 64);

		if (rest)
			return i + (size_t)__builtin_ctzll(rest) < end
				       ? i + (size_t)__builtin_ctzll(rest)
				       : end;
		i = (i / 64 + 1) * 64;
	}
	return end;
}

static inline size_t bits_count(const uint64_t *b, size_t words)
{
	size_t n = 0;

	for (size_t w = 0; w < words; w++)
		n += (size_t)__builtin_popcountll(b[w]);
	return n;
}

/* Fills k->needs; and, once the wanted metrics are known, k->common. */
int plan_needs(struct planning *k, struct err *err) MUST_USE;
void plan_common(struct planning *k);
/* Fills k->event, once the pinned group is known. plan_fits: whether one group can hold all that a
 * metric needs (slow: call for few metrics). */
int plan_events(struct planning *k, struct err *err) MUST_USE;
bool plan_fits(struct planning *k, uint32_t metric);
bool plan_fits_tight(struct planning *k, uint32_t metric);
/* plan_sets.c: fills k->wanted; makes room; the sets of the stage under a node, or with MODEL_NONE
 * of stage 0, which with `all` has everything. */
int plan_choose(struct planning *k, struct err *err) MUST_USE;
int plan_sets_init(struct planning *k, struct stage_sets *s, struct err *err) MUST_USE;
int plan_stage_sets(struct planning *k, struct stage_sets *out, uint32_t under, bool all,
		    struct err *err) MUST_USE;
/* How many events the stage under a node asks for together with that stage right below it that adds
 * the most; under which node that one is, or MODEL_NONE. And the sets of that one. */
int plan_demand(struct planning *k, uint32_t under, size_t *events, uint32_t *child,
		struct err *err) MUST_USE;
int plan_sets_below(struct planning *k, struct stage_sets *out, uint32_t under,
		    struct err *err) MUST_USE;
/* plan_pin.c: puts level 1 into a pinned group, if that saves counters. */
int plan_pin(struct planning *k, struct err *err) MUST_USE;
/* Cycles on a fixed counter that nothing pinned takes, or MODEL_NONE: every group can have them. */
uint32_t plan_free_cycles(const struct planning *k);
int plan_latencies(struct planning *k, struct plan *out, struct err *err) MUST_USE;

#endif
