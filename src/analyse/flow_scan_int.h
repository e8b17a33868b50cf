/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_scan_int - how a flow is made of a recording:
 *
 *	flow_event.c	which events are used, what their stacks hold and what they count
 *	flow_place.c	addresses of a process at a time -> images and addresses in them
 *	flow_window.c	what each entry of a stack weighs
 *	flow_scan.c	stacks -> edges and spans by place, counted per worker
 *	flow.c		the workers' tables -> one, sorted
 *
 * Counters are told apart by place, not by what was mapped where at the time, so that memory does
 * not grow with processes. All that is added up is added in integers (weights are of fixed point),
 * and groups are dealt by the place in the file, so that the result is the same whatever the number
 * of threads.
 */
#ifndef CYCLADE_ANALYSE_FLOW_SCAN_INT_H
#define CYCLADE_ANALYSE_FLOW_SCAN_INT_H

#include "analyse/flow_int.h"
#include "analyse/itab.h"
#include "base/vec.h"

#define FLOW_WRONG_PATH 1 /* PERF_BR_SPEC_WRONG_PATH: executed, but never retired */

/* ---- events -------------------------------------------------------------------------------- */

struct flow_event {
	bool used;
	bool near;	     /* does not count branches between user space and kernel */
	bool counts_entries; /* counts what stacks hold: the period is in entries of stacks */
	uint64_t period;     /* where the record has none */
};

struct flow_events {
	struct flow_event *v; /* as pd_events */
	size_t n;
	unsigned shift; /* what weights are shifted by: their sum stays below 2^63 */
};

enum flow_filter flow_filter_of(const struct pd_event *ev);
enum flow_counts flow_counts_of(const struct pd *rec, const struct pd_event *ev);
/* Fills what is known before a sample is read: filter, counts, event, biased, user_only. */
int flow_choose(struct flow_events *out, struct flow_sums *sums, const struct pd *rec,
		const struct flow_opts *opts, struct err *err) MUST_USE;

/* ---- places -------------------------------------------------------------------------------- */

#define FLOW_SPOTS 2048u
#define FLOW_WHOS  1024u
#define FLOW_NEAR  4u

/* A place in two words, which are copied and compared as such: the second is image and kind. */
struct flow_at {
	uint64_t addr, where;
};

static inline uint64_t flow_where(uint32_t image, uint8_t kind)
{
	return (uint64_t)kind << 32 | image;
}

static inline struct flow_place flow_place_of(struct flow_at at)
{
	return (struct flow_place){ (uint32_t)at.where, at.addr, (uint8_t)(at.where >> 32) };
}

/* Where addresses lie, good for all of a span of addresses and times. */
struct flow_spot {
	uint64_t start, size, from, life;
	uint64_t whose;
	uint64_t less; /* from ip to image address */
	uint64_t where;
	uint8_t asked;
};

/* A thread as the last sample met it; good for times in [from, until). */
struct flow_who {
	const struct process *proc;
	uint64_t task, from, until;
	uint32_t index; /* process_index; UINT32_MAX: none known */
	bool used, wanted;
};

struct flow_near {
	uint64_t start, size, less, where;
};

struct flow_map {
	const struct spaces *sp;
	const char *comm; /* NULL: all */
	struct flow_who *who;
	struct flow_spot *spot;
	struct flow_near near[FLOW_NEAR]; /* spots of the sample at hand, the last one first */
	unsigned n_near, turn;
	const struct flow_who *of; /* whose they are, in [from, until) */
	uint64_t from, until, time;
	bool guest;
};

int flow_map_init(struct flow_map *m, const struct spaces *sp, const char *comm,
		  struct err *err) MUST_USE;
void flow_map_free(struct flow_map *m);
/* From here on addresses are of this thread at this time. False: not of the comm asked for. */
bool flow_map_enter(struct flow_map *m, uint32_t pid, uint32_t tid, uint64_t time, bool guest);
/* The same for a sample. False: it is one that the options leave out, by thread or time. */
bool flow_map_sample(struct flow_map *m, bool has_time, const struct flow_opts *opts,
		     const struct pd_event *ev, const struct pd_record *r);
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

/* What most entries change is a cache line, and another of the groups; tables are aligned to lines.
 * Numbers of 32 bits do: a recording whose entries they could not count is refused. */
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
	uint64_t unused; /* to the end of the line */
	uint64_t group[FLOW_GROUPS];
};
_Static_assert(sizeof(struct edge_count) == 192 && sizeof(struct span_count) == 192, "whole lines");

struct flow_counts_of_worker {
	VEC(struct edge_count) edge;
	VEC(struct edge_rare) rare; /* of edges, by the same number */
	VEC(struct span_count) span, stop;
	VEC(struct flow_times) times;
	struct itab edge_at, span_at, stop_at;
	struct flow_sums sums;
	uint64_t period, group_period[FLOW_GROUPS];
};

void flow_counts_free(struct flow_counts_of_worker *c);
/* Adds what `more` counted. */
int flow_counts_add(struct flow_counts_of_worker *c, const struct flow_counts_of_worker *more,
		    struct err *err) MUST_USE;

/* What one run of each span has of that which the event counts: flow_weigh(). */
struct flow_costs {
	const struct flow *flow;
	const double *cost; /* by span; 0: not known */
	double mean;	    /* of those known, by hits */
	double *at_start;   /* of those that begin at one place; at the first of them */
	struct itab at;	    /* spans by where they begin */
};
int flow_costs_index(struct flow_costs *c) MUST_USE;

/* All stacks of the recording into `out`; `costs` NULL: stacks weigh their periods. */
int flow_scan(struct flow_counts_of_worker *out, const struct pd *rec, const struct spaces *sp,
	      const struct flow_opts *opts, const struct flow_events *events,
	      enum flow_filter filter, const struct flow_costs *costs, struct err *err) MUST_USE;

#endif
