/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder - sampling counters on CPUs and tasks, and the rings they write to.
 *
 *	recorder_open(&r, &setup, &err)		opens every counter, maps a ring per CPU (or thread)
 *	recorder_start(r, &sink, &err)		a thread drains the rings into the sink
 *	recorder_enable / _disable		all counters at once
 *	recorder_stop(r, &err)			the last drain; the sink's first failure
 *	recorder_close(r)
 *
 * A ring is mapped for each CPU on which any event is opened.
 *
 * The thread sleeps until a ring is half full or `flush_ms` have passed (with jitter less, down to
 * 10 ms, if counters take samples faster than they get periods), drains all rings and calls
 * round(), so that older records are out of our hands. The sink is called on one thread only.
 * Records are handed over as the kernel wrote them, in runs of bytes: a record may be cut by the
 * end of a run, its rest is the next run. With `in_order` each run is a record, or a part of one,
 * and those of all rings come in the order of their times: what a thread maps on one CPU comes
 * before its samples on another. Nothing ever waits for us: if a ring is full, the kernel
 * drops samples and counts them in LOST records.
 *
 * With `apart` the thread only copies, and a second one calls the sink: a sink that takes long now
 * and then does not let the rings fill. Up to RECORDER_APART bytes wait for it. Runs begin and end
 * at any multiple of 8 bytes then, as records do: no record's head is cut.
 */
#ifndef CYCLADE_COLLECT_RECORDER_H
#define CYCLADE_COLLECT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/perf_abi.h"

struct recorder;

struct recorder_event {
	struct perf_event_attr attr;
	int group;	      /* index of its leader; its own if it leads */
	const uint32_t *cpus; /* where it can count, ascending; NULL: on all of setup's */
	size_t n_cpus;
	/* Opened on all of `cpus`, setup's or not, and outside of the cgroup too: an event that
	 * records mappings and names, which a task may have got elsewhere. Needs setup's cpus. */
	bool beyond;
	uint64_t period_step; /* with jitter: periods are multiples of it; 0: of nothing */
	/* Bytes of the AUX ring for its trace, a power of two of pages; 0: none. It has a ring of
	 * records of its own, too, and no jitter. */
	uint64_t aux_bytes;
	const char *filter; /* of a tracepoint; NULL: none */
	const char *name;   /* for messages */
};

#define RECORDER_RING  (512u << 10) /* bytes of data, unless others are asked for */
#define RECORDER_APART (64u << 20)  /* bytes that wait at most */

struct recorder_setup {
	const struct recorder_event *event;
	size_t n_events;
	const uint32_t
		*cpus; /* -a, -C, or one ring per CPU for inherited counters; NULL: one per task */
	size_t n_cpus;
	const pid_t *tasks; /* NULL: whole CPUs */
	size_t n_tasks;
	int cgroup_fd;	     /* -1: none */
	uint64_t ring_bytes; /* of data, a power of two of pages; 0: RECORDER_RING */
	unsigned flush_ms;   /* 0: 250 */
	bool in_order;	     /* all events' records have their times at the same places */
	bool apart;	     /* has no effect if an event has an AUX ring */
	/* Counters have periods of their own, up to so far from the one asked for (0.1), and new
	 * ones as they go on: see recorder_saw(); 0: the one asked for. */
	double jitter;
	uint64_t seed; /* of jitter */
};

/* A piece of an AUX ring: two if the ring's end cuts it. */
struct recorder_trace {
	const void *p[2];
	size_t len[2];
	uint64_t offset; /* of its first byte since the recording began */
	uint32_t ring;
	int cpu;    /* -1: of a task wherever it runs */
	pid_t task; /* -1: of whatever runs */
};

/* How ticks of a trace become times: of perf_event_mmap_page. */
struct recorder_clock {
	uint64_t shift, mult, zero, cycles, mask;
	bool short_counter;
};

struct recorder_sink {
	int (*data)(void *ctx, const void *p, size_t len, struct err *err);
	int (*round)(void *ctx, struct err *err);
	int (*trace)(void *ctx, const struct recorder_trace *t, struct err *err); /* or NULL */
	/* Or NULL; with `apart`, on the draining thread: a record without what nobody needs, so
	 * that less waits. Its new size, at most the old one; 0: it stays as it is. */
	size_t (*shorten)(void *ctx, const void *p, size_t len, void *out);
	void (*failed)(void *ctx); /* a thread gives up after data() or round() failed */
	void *ctx;
};

int recorder_open(struct recorder **out, const struct recorder_setup *setup,
		  struct err *err) MUST_USE;
/* The ids of an event's counters, as samples carry them. Owned by the recorder. */
const uint64_t *recorder_ids(const struct recorder *r, size_t event, size_t *n);
/* Returns the clock of the first AUX ring; false: there is none, or the kernel has no conversion of
 * its clock. */
bool recorder_clock(const struct recorder *r, struct recorder_clock *out);
int recorder_start(struct recorder *r, const struct recorder_sink *sink, struct err *err) MUST_USE;
int recorder_enable(struct recorder *r, struct err *err) MUST_USE;
int recorder_disable(struct recorder *r, struct err *err) MUST_USE;
/* From now on recorder_enable() passes an event over, or not. Not while another thread calls it. */
void recorder_hold(struct recorder *r, size_t event, bool hold);
/* The counters of one event; a member of a group counts only while its leader does. */
int recorder_switch(struct recorder *r, size_t event, bool on, struct err *err) MUST_USE;
int recorder_stop(struct recorder *r, struct err *err) MUST_USE;
/* From the sink: a sample of the counter with this id, of this thread. With jitter a counter that
 * has taken RECORDER_STEADY samples since its last period gets a new one: its count up to then
 * towards its next sample is thrown away by the kernel then, half a period on average, so that at
 * most 0.5 % of its samples are missing. Each sample holds the period that it stands for. A thread
 * that inherited its counter keeps the period that held when it began. */
#define RECORDER_STEADY 100u
void recorder_saw(struct recorder *r, uint64_t id, uint32_t tid);
/* Lost samples by the counters' own count (PERF_FORMAT_LOST); false if the kernel does not have
 * it. */
bool recorder_lost(const struct recorder *r, uint64_t *lost);
/* Counters that were to be on the PMU all the time (pinned) and lost their place: they sample no
 * more. *all: how many there are. */
size_t recorder_ousted(const struct recorder *r, size_t *all);
void recorder_close(struct recorder *r); /* NULL is fine */

#endif
