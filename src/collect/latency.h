/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latency - mean retire latencies of events, by sampling them beside the counting.
 *
 *	latency_open(&l, &setup, &err)		opens the counters, disabled; a thread reads samples
 *	latency_enable(l, on, &err)		all at once
 *	latency_read(l, values)			what has been seen so far; at any time
 *	latency_close(l)
 *
 * Since Meteor Lake and Granite Rapids a precise (PEBS) sample tells how many core cycles passed
 * between the retirement of the instruction before and that of the sampled one. Linux (6.3) hands
 * that over as the last 16 bits of the weight of PERF_SAMPLE_WEIGHT_STRUCT. Samples are taken at a
 * fixed period, so each weighs the same.
 *
 * A CPU or kernel that does not tell leaves 0 there: an event all of whose samples say 0 is not
 * known, and neither is one with fewer than LATENCY_FEW samples. An event the kernel refuses to
 * sample is `refused`; the others go on.
 *
 * Each event holds a general counter while it samples; the kernel lets them take turns with the
 * groups that count. What is lost by a full ring is lost evenly enough: only the mean is used.
 */
#ifndef CYCLADE_COLLECT_LATENCY_H
#define CYCLADE_COLLECT_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/perf_abi.h"

#define LATENCY_FEW 30u

struct latency;

struct latency_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the rest is set here */
	uint64_t period;	     /* 0: 100003 */
	const uint32_t *cpus;	     /* where the PMU counts; NULL: everywhere */
	size_t n_cpus;
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
	bool refused;
};

int latency_open(struct latency **out, const struct latency_setup *setup, struct err *err) MUST_USE;
int latency_enable(struct latency *l, bool on, struct err *err) MUST_USE;
/* out[event]. Drained at least every 250 ms; after latency_stop() nothing is missing. */
void latency_read(struct latency *l, struct latency_value *out);
/* The last drain; the first failure of the thread. */
int latency_stop(struct latency *l, struct err *err) MUST_USE;
void latency_close(struct latency *l); /* NULL is fine */

/* The bytes of rings, in runs that may cut a record: for tests and fuzzing. Samples are an id (of
 * `id`, whose events are in `of`) and a weight; everything else is passed over. */
struct latency_sums {
	uint64_t n, nonzero;
	uint16_t least, most;
	double sum, squares;
};
struct latency_parser {
	const uint64_t *id;
	const uint32_t *of;
	size_t n_ids;
	struct latency_sums *sums; /* by event */
	uint64_t unknown;	   /* samples of no event of ours, or too short */
	uint64_t lost;		   /* as the kernel says in LOST records */
	uint8_t head[32];	   /* of a record that a run cut */
	size_t have, want;	   /* bytes of it: here, in all (0: its header is not whole) */
};
void latency_parse(struct latency_parser *p, const void *bytes, size_t len);
void latency_value_of(const struct latency_sums *s, struct latency_value *out);

#endif
