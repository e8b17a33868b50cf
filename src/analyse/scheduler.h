/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheduler - what the scheduler did, by waits that were built (wait.h): how often and how long
 * threads ran, how long they waited for a CPU, where they moved, and who had which CPU when.
 *
 *	sched_build(&s, w, bins)	after wait_end(); w stays
 *	sched_free(&s)
 *
 * A delay is the time from a wake-up, a preemption or the thread's first wake-up until it gets a
 * CPU: perf sched's "delay". One that the recording's end or a loss cuts off is not counted. A run
 * is the time from getting a CPU to leaving it.
 */
#ifndef CYCLADE_ANALYSE_SCHEDULER_H
#define CYCLADE_ANALYSE_SCHEDULER_H

#include "analyse/wait.h"

struct sched_sum {
	uint64_t n, time, most;
	uint64_t most_at; /* when the longest one began */
};

struct sched_thread {
	uint32_t thread; /* of w->thread */
	struct sched_sum run, delay;
	uint64_t p99; /* of its delays; UINT64_MAX: there is none */
};

struct sched_cpu {
	uint32_t cpu;
	uint64_t runs, time, threads; /* threads: different ones */
	uint32_t most;		      /* the thread that ran longest there; WAIT_NOBODY: none did */
	uint64_t most_time;
	uint32_t *bin; /* by bin: who ran longest then; WAIT_NOBODY: nobody; NULL: too many CPUs */
};

struct sched {
	struct sched_thread *thread; /* wanted ones that ran or waited for a CPU, by delay in all */
	size_t n_threads;
	struct sched_cpu *cpu; /* those on which wanted threads ran, by number */
	size_t n_cpus, n_bins;
	struct sched_sum run, delay; /* of all wanted threads */
	uint64_t p50, p90, p99;	     /* of delays */
	uint64_t moved;
};

void sched_build(struct sched *s, const struct wait *w, size_t bins);
void sched_free(struct sched *s);

#endif
