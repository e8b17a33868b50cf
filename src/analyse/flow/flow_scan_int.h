/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_scan_int - how a flow is made of a recording:
 *
 *	flow_event.c	which events are used, their stacks and the quantity that they count
 *	flow_place.c	addresses of a process at a time -> images and addresses in them
 *	flow_window.c	the weight of each entry of a stack
 *	flow_scan.c	stacks -> edges and spans by place, counted per worker
 *	flow_count.c	the tables that these are counted in
 *	flow.c		the workers' tables -> one, sorted
 *
 * Counters are by place, not by the mappings of the time, so that memory does not grow with
 * processes. All that is added up is added in integers (weights are of fixed point), and groups are
 * dealt by the place in the file, so that the result is the same whatever the number of threads.
 */
#ifndef CYCLADE_ANALYSE_FLOW_FLOW_SCAN_INT_H
#define CYCLADE_ANALYSE_FLOW_FLOW_SCAN_INT_H

#include "analyse/flow/flow_int.h"
#include "analyse/itab.h"
#include "analyse/pass.h"
#include "base/vec.h"

#define FLOW_WRONG_PATH 1 /* PERF_BR_SPEC_WRONG_PATH: executed, but never retired */

/* ---- events -------------------------------------------------------------------------------- */

struct flow_event {
	bool used;
	bool near;	     /* does not count branches between user space and kernel */
	bool counts_entries; /* counts the branches that stacks hold: the period is in entries of
			      * stacks */
	uint64_t period;     /* if the record has none */
};

struct flow_events {
	struct flow_event *v; /* as pd_events */
	bool *used;	      /* the same, for a pass */
	size_t n;
	unsigned shift; /* the shift of weights: their sum stays below 2^63 */
};

enum flow_filter flow_filter_of(const struct pd_event *ev);
enum flow_counts flow_counts_of(const struct pd *rec, const struct pd_event *ev);
/* Fills the fields that are known before a sample is read: filter, counts, event, biased,
 * user_only. */
int flow_choose(struct flow_events *out, struct flow_sums *sums, const struct pd *rec,
		const struct flow_opts *opts, struct err *err) MUST_USE;

void flow_events_free(struct flow_events *e);

/* ---- places -------------------------------------------------------------------------------- */

#define FLOW_NEAR 4u

/* A place in two words, which are copied and compared as such: the second is image and kind. */
struct flow_at {
	uint64_t addr, where;
};

static inline uint64_t flow_where(uint32_t image, uint8_t kind)
{
	return (uint64_t)kind << 32 | image;
}

static inline bool flow_is_kernel(const struct flow_at *at)
{
	uint64_t kind = at->where >> 32;

	return kind == SPACE_KERNEL || kind == SPACE_GUEST_KERNEL;
}

/* Returns true for an address of 0: it was not visible to the recorder. */
static inline bool flow_is_hidden(const struct flow_at *at)
{
	return !at->addr && (uint32_t)at->where == IMAGE_NONE;
}

static inline struct flow_place flow_place_of(struct flow_at at)
{
	return (struct flow_place){ (uint32_t)at.where, at.addr, (uint8_t)(at.where >> 32) };
}

struct flow_near {
	uint64_t start, size, less, where;
};

/* Beside the pass's table of places: the last few, good for as long as samples are of the same
 * process and nothing is mapped anew. That is looked at once a sample, not at each address. */
struct flow_map {
	struct flow_near near[FLOW_NEAR]; /* the last one first */
	unsigned n_near, turn;
	const struct pass_sample *of;  /* the sample with the addresses */
	uint64_t turn_of, from, until; /* whose the near places are, in [from, until) */
	bool guest;
};

/* From here on addresses are of this sample's thread at its time, until its hook returns. */
void flow_map_enter(struct flow_map *m, const struct pass_sample *s);
struct flow_at flow_map_ask(struct flow_map *m, uint64_t ip);

static inline struct flow_at flow_map_at(struct flow_map *m, uint64_t ip)
{
	const struct flow_near *o = &m->near[m->turn];

	if (__builtin_expect(ip - o->start < o->size, 1))
		return (struct flow_at){ ip - o->less, o->where };
	return flow_map_ask(m, ip);
}

static inline struct flow_place flow_map_place(struct flow_map *m, uint64_t ip)
{
	return flow_place_of(flow_map_at(m, ip));
}

/* ---- counters ------------------------------------------------------------------------------ */

/* Estimates of each half of all stacks: of edges, spans or stops, by the same number. */
struct flow_half {
	uint64_t newer, older;
};
struct flow_halves {
	struct flow_half *v;
	size_t n, cap;
};

/* Most entries change one cache line here, and one of the groups; tables are aligned to lines.
 * Numbers of 32 bits do: a recording with more entries is refused. */
struct edge_count {
	struct flow_at from, to;
	uint64_t hits, cycles;
	uint32_t mispredicted, predicted, timed;
	uint8_t type;
	uint64_t group[FLOW_GROUPS];
};
struct edge_rare {
	uint32_t in_tx, aborts;
};

struct span_count {
	struct flow_at start;
	uint64_t end, hits, cycles, cycles_sq;
	uint32_t timed, times;
	uint32_t stacks, last_stack; /* that have a time of it; the last of them */
	uint64_t group[FLOW_GROUPS];
};
_Static_assert(sizeof(struct edge_count) == 192 && sizeof(struct span_count) == 192, "whole lines");

struct flow_counts_of_worker {
	VEC(struct edge_count) edge;
	VEC(struct edge_rare) rare; /* of edges, by the same number */
	VEC(struct span_count) span, stop;
	struct flow_halves edge_half, span_half, stop_half; /* empty unless asked for */
	VEC(struct flow_times) times;
	struct itab edge_at, span_at, stop_at;
	struct flow_sums sums;
	uint64_t period, group_period[FLOW_GROUPS];
};

/* Add and return a row; the caller has its hash. NULL when out of memory. */
struct edge_count *flow_new_edge(struct flow_counts_of_worker *c, uint64_t h,
				 const struct flow_at *from, const struct flow_at *to);
struct span_count *flow_new_span(struct flow_counts_of_worker *c, uint64_t h,
				 const struct flow_at *start, uint64_t end);
/* The row of a span that ends in the kernel, and the times of a span, made if there are none; NULL
 * when out of memory. */
struct span_count *flow_stop_of(struct flow_counts_of_worker *c, const struct flow_at *start,
				uint64_t end);
struct flow_times *flow_times_of(struct flow_counts_of_worker *c, struct span_count *s);

static inline uint64_t flow_mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t h = (a ^ (b + c) * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ (h >> 32 | h << 32);
}

static inline uint64_t flow_edge_hash(const struct flow_at *from, const struct flow_at *to)
{
	return flow_mix(from->addr, to->addr, from->where << 16 ^ to->where);
}

static inline uint64_t flow_span_hash(const struct flow_at *start, uint64_t end)
{
	return flow_mix(start->addr, end, start->where);
}

static inline bool flow_same_place(const struct flow_at *a, const struct flow_at *b)
{
	return a->addr == b->addr && a->where == b->where;
}

static inline struct edge_count *flow_edge_of(struct flow_counts_of_worker *c, uint64_t h,
					      const struct flow_at *from, const struct flow_at *to)
{
	uint32_t idx;

	for (size_t i = itab_first(&c->edge_at, h); itab_at(&c->edge_at, &i, h, &idx);) {
		struct edge_count *e = &c->edge.v[idx];

		if (flow_same_place(&e->from, from) && flow_same_place(&e->to, to))
			return e;
	}
	return flow_new_edge(c, h, from, to);
}

static inline struct span_count *flow_span_of(struct flow_counts_of_worker *c, uint64_t h,
					      const struct flow_at *start, uint64_t end)
{
	uint32_t idx;

	for (size_t i = itab_first(&c->span_at, h); itab_at(&c->span_at, &i, h, &idx);) {
		struct span_count *s = &c->span.v[idx];

		if (flow_same_place(&s->start, start) && s->end == end)
			return s;
	}
	return flow_new_span(c, h, start, end);
}

void flow_counts_free(struct flow_counts_of_worker *c);
struct flow_half *flow_half_of(struct flow_halves *h, size_t n, size_t i);
int flow_counts_add(struct flow_counts_of_worker *c, const struct flow_counts_of_worker *more,
		    struct err *err) MUST_USE;

/* How much of the counted quantity one run of each span has: flow_weigh(). */
struct flow_costs {
	const struct flow *flow;
	const double *cost; /* by span; 0: not known */
	double mean;	    /* of those known, by hits */
	double *at_start;   /* of those that begin at one place; at the first of them */
	struct itab at;	    /* spans by their begin */
};
int flow_costs_index(struct flow_costs *c) MUST_USE;

/* All stacks of the recording, in a pass: begin adds its visitor, end frees the scan. `events`,
 * `costs` (NULL: stacks weigh their periods) and the pass outlive it. `halves` are wanted. */
struct flow_scan;
int flow_scan_begin(struct flow_scan **out, struct pass *p, const struct flow_events *events,
		    enum flow_filter filter, const struct flow_costs *costs, bool halves,
		    struct err *err) MUST_USE;
int flow_scan_end(struct flow_scan *sc, struct flow_counts_of_worker *out,
		  struct err *err) MUST_USE;
void flow_scan_free(struct flow_scan *sc); /* NULL is fine */

#endif
