/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latency - mean retire latencies of events, by sampling them beside the counting.
 *
 *	latency_open(&l, &setup, &err)		opens the counters, disabled; a thread reads samples
 *	latency_switch(l, event, on, &err)	a group, by its leader; all: latency_enable()
 *	latency_read(l, sums)			sums so far; at any time
 *	latency_value_of(&sums[i], &value)	mean, error, least and most
 *	latency_close(l)
 *
 * Since Meteor Lake and Granite Rapids a precise (PEBS) sample holds the number of core cycles
 * between the retirement of the instruction before and that of the sampled one. Linux (6.3) hands
 * that over as the last 16 bits of the weight of PERF_SAMPLE_WEIGHT_STRUCT. Samples are taken at a
 * fixed period, so each weighs the same.
 *
 * A CPU or kernel without this leaves 0 there: an event is not known if all its samples have 0, or
 * if it has fewer than LATENCY_FEW samples. An event the kernel refuses to sample is left out, with
 * its reason; the others go on.
 *
 * Samples that follow each other are alike (a program has phases, a ring is drained in runs), so
 * the standard error comes from the sums of rounds: the variance of a ratio of clusters, and never
 * less than that of samples that know nothing of each other.
 *
 * Each event holds a general counter while it samples; the kernel lets groups of them take turns
 * with the groups that count. A full ring's losses are even enough: only the mean is
 * used.
 */
#ifndef CYCLADE_COLLECT_LATENCY_H
#define CYCLADE_COLLECT_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/perf_abi.h"

#define LATENCY_FEW	   30u
#define LATENCY_FEW_ROUNDS 5u /* with fewer, their spread is unknown */

struct latency;

struct latency_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the rest is set here */
	uint64_t period;	     /* 0: 100003 */
	const uint32_t *cpus;	     /* where the PMU counts; NULL: everywhere */
	size_t n_cpus;
	uint32_t group;	  /* index of its group's leader, which stands before it; its own: alone */
	bool on;	  /* its group samples from exec on (enable_on_exec) */
	const char *name; /* for messages */
};

struct latency_setup {
	const struct latency_event *event;
	size_t n_events;
	const uint32_t *cpus; /* -a, -C, or one ring per CPU for inherited counters; NULL: tasks */
	size_t n_cpus;
	const pid_t *tasks; /* NULL: whole CPUs */
	size_t n_tasks;
	int cgroup_fd; /* -1: none */
	bool inherit, enable_on_exec;
};

struct latency_value {
	uint64_t n; /* samples */
	uint16_t least, most;
	double mean, se; /* core cycles, and the standard error; NAN: not known */
	bool silent;	 /* enough samples, all of which are 0 */
};

/* Sums of samples; sums of a later reading less those of an earlier one are the sums between
 * (except least and most). */
struct latency_sums {
	uint64_t n, nonzero;
	uint16_t least, most;
	double sum, squares;
	/* of rounds that had samples: how many, and sums of n * n, n * sum, sum * sum */
	uint64_t rounds;
	double nn, ns, ss;
	uint64_t round_n; /* of the round that goes on */
	double round_sum;
};

int latency_open(struct latency **out, const struct latency_setup *setup, struct err *err) MUST_USE;
int latency_enable(struct latency *l, bool on, struct err *err) MUST_USE;
/* The group that this event leads. */
int latency_switch(struct latency *l, size_t event, bool on, struct err *err) MUST_USE;
/* out[event]. Drained at least every 50 ms; after latency_stop() nothing is missing. */
void latency_read(struct latency *l, struct latency_sums *out);
/* errno with which the kernel refused it, or 0. */
int latency_refused(const struct latency *l, size_t event);
/* The last drain; the first failure of the thread. */
int latency_stop(struct latency *l, struct err *err) MUST_USE;
void latency_close(struct latency *l); /* NULL is fine */

void latency_value_of(const struct latency_sums *s, struct latency_value *out);
void latency_add(struct latency_sums *to, const struct latency_sums *more);
/* The part after `earlier`; least and most stay those of `*s`. */
void latency_since(struct latency_sums *s, const struct latency_sums *earlier);

/* The bytes of rings, in runs that may cut a record: for tests and fuzzing. Samples are an id (of
 * `id`, ascending, whose events are in `of`) and a weight; everything else is skipped. */
struct latency_parser {
	const uint64_t *id;
	const uint32_t *of;
	size_t n_ids;
	struct latency_sums *sums; /* by event */
	uint64_t unknown;	   /* samples of no event of ours, or too short */
	uint64_t lost;		   /* by the kernel's LOST records */
	uint8_t head[32];	   /* of a record that a run cut */
	size_t have, want;	   /* bytes of it: here, in all (0: its header is not whole) */
};
void latency_parse(struct latency_parser *p, const void *bytes, size_t len);
/* A round of draining ends. */
void latency_round(struct latency_sums *s);

#endif
