/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - control flow from branch records (LBR, AMD LBRv2 and BRS, BRBE), by place.
 *
 *	flow_build(&f, rec, spaces, &opts, &err)	all cores, one pass over the recording
 *	flow_edges(f, &n), flow_spans(f, &n)		sorted by place
 *	flow_free(f)
 *
 * Two things are in a stack of branches. Each entry is an edge: a branch that was taken. Each two
 * neighbours bound a span: code from the target of the older one to the branch of the newer one,
 * all of which ran exactly once. (A stack of n entries has n - 1 spans. If stacks are filtered to
 * calls or returns, they have edges only: the code between two of them is not known.)
 *
 * Weight. A sample stands for `period` occurrences of its event, a stack for as many as that of
 * each of its n entries' edges and of its n - 1 spans: each edge weighs period / n, each span
 * period / (n - 1), so that with an event that counts the recorded branches weights are executions.
 * Neighbours that bound no code (flow_sums.backwards, ...) are among the n - 1: their executions
 * are not known, and not dealt to the others. Branches between user space and kernel, which many
 * such events do not count, are not: near ones alone stand for the period, and these weigh as much
 * each. With other events weights are executions times a factor that is the same for the whole
 * recording (blocks.h finds it if the recording allows), and stacks favour code near slow
 * instructions: `biased`. Their samples alias with loops: the middle of a stack then weighs more
 * than its ends, so that its position in a loop does not matter (flow_window.h).
 *
 * Errors. Samples are dealt to FLOW_GROUPS groups in turn, and each edge and span keeps its weight
 * by group. A figure is made once from all and once from each group; the spread of the groups is
 * its error (interpenetrating samples, Mahalanobis 1946): hits of one stack, which are not
 * independent, need no model, and so do ratios. flow_error() does the arithmetic.
 *
 * Samples of an event that counts no branches are not taken at random: stacks favour the code
 * before places where the processor waits. Each half of the stacks is an estimate by itself; if
 * samples are random, both estimates are the same. Twice their difference goes into the error.
 *
 * Samples of an event that is not precise come late by a number of cycles that the recording does
 * not contain. Measured on programs with known counts, errors made of the halves hold 88 % of
 * counts at 15 cycles and 58 % at 150. Such figures have no error: half is NAN, why is flow_late.
 *
 * Costs: some 20 ns an entry and core; memory of distinct edges and spans, 200 bytes each.
 */
#ifndef CYCLADE_ANALYSE_FLOW_H
#define CYCLADE_ANALYSE_FLOW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

#define FLOW_GROUPS 16
/* Behind the groups: the estimate of the newer half of all stacks, and of the older half. Both 0 if
 * samples were taken at random: flow_sums.leaning is false. Both NAN if flow_sums.late. */
#define FLOW_SLOTS (FLOW_GROUPS + 2)

enum flow_filter { /* the branches that stacks hold: PERF_SAMPLE_BRANCH_* of their event */
		   FLOW_ANY,   /* every taken branch: spans can be made */
		   FLOW_CALLS, /* calls, direct or indirect or both */
		   FLOW_RETURNS,
		   FLOW_STACK, /* call-stack mode: unfinished calls, not a history */
		   FLOW_SOME,  /* other subsets: conditional branches, jumps, ... */
};

struct flow_place {
	uint32_t image; /* IMAGE_NONE: in no mapping, then addr is the ip */
	uint64_t addr;	/* image address */
	uint8_t kind;	/* enum space_kind */
};

struct flow_weight {
	uint64_t hits; /* times it was seen in a stack */
	double group[FLOW_SLOTS];
};

struct flow_edge {
	struct flow_place from, to;
	struct flow_weight w;
	struct branch_tally tally;
	uint8_t type; /* PERF_BR_* if recorded, else 0 */
};

struct flow_span {
	uint32_t image;
	uint8_t kind;	     /* enum space_kind */
	uint64_t start, end; /* first instruction, and that which the branch is (not behind it) */
	struct flow_weight w;
	/* Cycles from branch to branch, if the processor counts them (timed LBR): between the
	 * retirement of the branch that led here and of the one that ends it. */
	uint64_t timed, cycles, cycles_sq;
	uint32_t times;	      /* of flow_times(): its distribution; FLOW_NO_TIMES: not timed */
	uint32_t time_stacks; /* stacks that have a time of it */
};

#define FLOW_NO_TIMES UINT32_MAX
/* Cycles by bucket: 0 to 15 exactly, then four to an octave up to 65535. */
#define FLOW_TIME_BUCKETS 64
struct flow_times {
	uint32_t n[FLOW_TIME_BUCKETS];
};
unsigned flow_time_bucket(uint32_t cycles);
uint32_t flow_time_from(unsigned bucket); /* the least cycles that fall into it */

/* The shape of a distribution of times (cycles). Quantiles are good to their bucket; their 95 %
 * bounds count stacks, not times, since times of one stack are not independent. */
#define FLOW_MODES 4
struct flow_quantile {
	double v, low, high; /* high NAN: too few stacks for an upper bound */
};
struct flow_shape {
	uint64_t n;
	struct flow_quantile p50, p95;
	double tail; /* share of all cycles in the slowest 5 %; NAN: not known */
	/* Modes: peaks of the density apart by 4 cycles and half as much again or more, each with a
	 * twentieth of all times, with less than half of the density between them. By cycles. */
	unsigned modes;
	struct {
		double at, share; /* the middle of its bucket; its part of all times */
	} mode[FLOW_MODES];
	bool several, heavy; /* modes; tail: a quarter of the cycles or more */
};
void flow_shape(struct flow_shape *out, const struct flow_times *t, uint64_t cycles,
		uint64_t stacks);

struct flow_opts {
	struct selection select;
	unsigned threads;
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
};

enum flow_counts { /* the quantity that the events used count, by their attributes and names */
		   FLOW_COUNTS_TAKEN,	 /* the branches that stacks hold */
		   FLOW_COUNTS_BRANCHES, /* branches, taken or not */
		   FLOW_COUNTS_INSNS,	 /* instructions retired */
		   FLOW_COUNTS_CYCLES,	 /* of the core, unhalted */
		   FLOW_COUNTS_OTHER,	 /* anything else, or not the same */
};

struct flow_sums {
	enum flow_filter filter; /* of the events used; they agree, else ERR_USAGE asks for -e */
	enum flow_counts counts;
	const char *event; /* name of the one used; NULL: several. The recording's memory */
	unsigned depth;	   /* of the deepest stack */
	bool biased;	   /* the event does not count branches */
	bool weighed;	   /* weights are executions all the same: flow_weigh() */
	double scale;	   /* the factor of all weights: flow_scale() */
	bool late;	   /* the event is not precise: samples come some time after it */
	bool leaning;	   /* late, or of cycles or anything else: stacks are of some code rather
			    * than of other */
	bool user_only;	   /* kernel branches were filtered out */
	uint64_t samples, stacks, empty, left_out, bad;
	uint64_t edges, spans; /* entries seen */
	double period;	       /* sum over stacks used */
	double group_period[FLOW_GROUPS];
	/* Neighbours that bound no code, by why: */
	uint64_t backwards; /* the newer branch leaves below the target of the older one */
	uint64_t crossing;  /* the two are in different images, or one is in none */
	uint64_t far_apart; /* farther than FLOW_SPAN_MAX: an interrupt, a lost entry */
	uint64_t switched;  /* one in the kernel, one in user space: entry or return */
	/* Stacks that held their newest branch twice: the copies are left out. */
	uint64_t repeated;
};
#define FLOW_SPAN_MAX (1u << 20)

struct flow;

int flow_build(struct flow **out, const struct pd *rec, struct spaces *sp,
	       const struct flow_opts *opts, struct err *err) MUST_USE;
/* The same in a walk that others share (pass.h); its selection is that of `opts`; the pass outlives
 * flow_end(). */
struct pass;
int flow_begin(struct flow **out, struct pass *p, const struct pd *rec,
	       const struct flow_opts *opts, struct err *err) MUST_USE;
int flow_end(struct flow *f, struct err *err) MUST_USE;
/* The same anew if the event counts not taken branches but something that spans have: `cost` is how
 * much of it one run of each span has; 0: not known. A sample falls into a span as often as it ran
 * and costs, so that one that fell into a span of mean cost c stands for period / c taken branches.
 * The recording does not name that span, but it began at the target of the newest branch; spans
 * that begin there have a mean cost, and that is enough: over samples, the mean of 1 / cost is 1 /
 * mean. Weights are executions then, without favour for long spans; one factor for all is off by
 * tens of percent. */
int flow_weigh(struct flow **f, const struct pd *rec, struct spaces *sp,
	       const struct flow_opts *opts, const double *cost, struct err *err) MUST_USE;
/* Multiplies all weights, if their known sum shows that they are off by a factor. */
void flow_scale(struct flow *f, double by);
/* Takes out the spans of which `out` is true, by span. Sums stay as they were counted. */
void flow_drop_spans(struct flow *f, const bool *out);
void flow_free(struct flow *f);

/* By (from, to) and by (image, start, end); place by place: a function's are neighbours. */
const struct flow_edge *flow_edges(const struct flow *f, size_t *n);
const struct flow_span *flow_spans(const struct flow *f, size_t *n);
/* Code that ran up to an entry of the kernel, in stacks of user space alone: these have no branch
 * into the kernel, only the one that came back. `end` is the target of that branch: right behind a
 * system call, anywhere after an interrupt. Not among the spans; flow_sums.switched has them. */
const struct flow_span *flow_stops(const struct flow *f, size_t *n);
const struct flow_sums *flow_sums(const struct flow *f);
const struct pd_info *flow_info(const struct flow *f); /* of the recording */
const struct flow_times *flow_times(const struct flow *f, size_t *n);
/* The edges again, by their targets: indices into flow_edges(). */
const uint32_t *flow_edges_into(const struct flow *f);
/* Those of [start, end) of an image: the first, and how many. By source, target, begin. */
size_t flow_edges_from(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		       size_t *first);
size_t flow_edges_to(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		     size_t *first); /* into flow_edges_into() */
size_t flow_spans_of(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		     size_t *first);

/* A figure with its error. */
struct flow_value {
	double v;    /* NAN: not known */
	double half; /* of the 95 % interval; NAN: not known */
	/* Its stacks were not taken at random: the error contains the difference of their halves,
	 * but not the bias that both halves share. */
	bool leans;
	const char *why; /* half is NAN: the reason; NULL: too few were seen */
};
#define FLOW_UNKNOWN ((struct flow_value){ NAN, NAN, false, NULL })
extern const char flow_late[]; /* why figures of flow_sums.late have no error */
double flow_sum(const struct flow_weight *w);
/* For a total of which `group` has each group's part: Student's t with FLOW_GROUPS - 1 degrees. */
struct flow_value flow_total(const double group[FLOW_SLOTS]);
/* The same for `hits` things seen, each of which weighs `each` in the mean. Few of them do not
 * spread over the groups as their error does: then it is at least the error of chance alone. */
struct flow_value flow_total_of(const double group[FLOW_SLOTS], uint64_t hits, double each);
/* For a ratio of totals (trip counts, mispredict rates): jackknife over the groups. */
struct flow_value flow_ratio(const double num[FLOW_SLOTS], const double den[FLOW_SLOTS]);
/* The same for `hits` things seen in the denominator. One of them, or more that one group has all
 * of, make no ratio: NAN. Few do not spread over the groups as their error does: then it is at
 * least the error of chance alone. */
struct flow_value flow_ratio_of(const double num[FLOW_SLOTS], const double den[FLOW_SLOTS],
				uint64_t hits);

/* In = out: checks that inflow equals outflow, which holds if stacks are complete. `apart`:
 * differences over counts, of all that were seen often enough; NAN: nothing was. `judged`: how many
 * of the places have a count with an error bar; `within`: how many of these differ by no more than
 * that. */
struct flow_balance {
	double apart;
	uint64_t places, judged, within;
};
/* Adds a place: the difference of its inflow and outflow, and its count. */
static inline void flow_balance_add(struct flow_balance *b, double apart, struct flow_value count)
{
	b->places++;
	b->judged += isnan(count.half) ? 0 : 1;
	b->within += apart <= count.half;
}
/* By places, without a look at the code: code begins at the target of a branch and ends at a
 * branch, but for the ends of stacks and for neighbours that bound no code. */
int flow_balance(struct flow_balance *out, const struct flow *f, uint64_t hits,
		 struct err *err) MUST_USE;

#endif
