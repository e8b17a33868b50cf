/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mux - how much of the time each event really had a counter, over time.
 *
 *	mux_build(&m, rec, threads, &err)	a pass over the samples with times
 *	mux_factor(m, event, cpu, tid, time)	the factor of a sample at that time
 *	mux_free(m)
 *
 * Samples recorded with PERF_SAMPLE_READ and PERF_FORMAT_TOTAL_TIME_ENABLED|RUNNING have the time
 * for which their event was wanted, and for which it counted; of a group both are the leader's, and
 * hold for all of it. The factor is enabled/running between one sample and another on the same CPU
 * (or of the same thread, if events follow threads), MUX_WINDOW apart at least: not of the whole
 * run, so that a program that changes its ways is weighed right, and not of one sample, which is
 * noise.
 *
 * If events follow tasks, there is a counter for each task on each CPU (their rings are the CPUs').
 * Each of them was wanted whenever its task ran anywhere, but runs on its own CPU alone: if a task
 * moved, enabled is the same on all CPUs, and running is the sum over the CPUs it was seen on (a
 * task of 0.3 s on CPU 0 and 0.5 s on CPU 1 has 0.8/0.3 and 0.8/0.5 there: the factor is 1). Values
 * and times of a sample are its own thread's since that thread began.
 *
 * On a hybrid such a counter is wanted, too, while its task is on the other kind of cores, which do
 * not have the event. There the time that it could run is that of the event of the same kind that
 * ran most, as a rule the cycles, which keep a counter of their own.
 *
 * Which of the two a recording is, is seen in it: threads' own times go back when another thread is
 * met; and counters of CPUs would, taken as a thread's, have run longer than they were wanted.
 *
 * While the kernel throttles an event, which interrupted too often, it stands still, though its
 * times go on: these pauses, which are recorded, are no running time.
 *
 * Recordings without these times have no factors: mux_build returns an object with `told` false,
 * never one of 1.0.
 *
 * Costs: some 100 ns a sample with times, on all cores; memory of 16 bytes a window.
 */
#ifndef CYCLADE_ANALYSE_MUX_H
#define CYCLADE_ANALYSE_MUX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "perfdata/perfdata.h"

#define MUX_WINDOW 100000000u /* ns of enabled time */

struct mux;
struct mux_event {
	bool told;	    /* of a group's members: by their leader */
	double mean;	    /* enabled / running over all of it; NAN: it never ran */
	double least, most; /* of the windows; NAN */
	uint64_t windows;
	double enabled, running; /* ns, summed over CPUs or threads; while it can be counted */
	/* The part of `running` in which it stood still, since the kernel throttled it. Factors
	 * make up for it by the rest of its window, which is a guess: it may have happened twice as
	 * often then, or not at all. */
	double paused;
};

int mux_build(struct mux **out, const struct pd *rec, unsigned threads, struct err *err) MUST_USE;
const struct mux_event *mux_events(const struct mux *m, size_t *n); /* by event index */
bool mux_told(const struct mux *m);				    /* of any event */
/* `event`: the record's, which leads its group. `time`: as feed_time() has it. NAN: not known. Safe
 * from several threads. */
double mux_factor(const struct mux *m, uint32_t event, uint32_t cpu, uint32_t tid, uint64_t time);
bool mux_by_cpu(const struct mux *m);
void mux_free(struct mux *m); /* NULL is fine */

/* Returns the corrected period; the same if the factor is not known. */
static inline uint64_t mux_weigh(uint64_t period, double factor)
{
	double v = (double)period * factor;

	if (!(factor > 1)) /* nor is NAN */
		return period;
	return v < 0x1p62 ? (uint64_t)(v + 0.5) : (uint64_t)1 << 62;
}

#endif
