/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mux - how much of the time each event really had a counter, over time.
 *
 *	mux_build(&m, rec, threads, &err)	one pass over samples that carry times
 *	mux_factor(m, event, cpu, time)		what a sample just then stands for
 *	mux_free(m)
 *
 * Samples recorded with PERF_SAMPLE_READ and PERF_FORMAT_TOTAL_TIME_ENABLED|RUNNING tell how long
 * their event was wanted and how long it counted. The factor is enabled/running between one sample
 * and another on the same CPU (or of the same task, where events follow tasks), MUX_WINDOW apart at
 * least: not of the whole run, so that a program that changes its ways is weighed right, and not of
 * one sample, which is noise.
 *
 * Where events follow tasks there is a counter for each task on each CPU (their rings are the CPUs').
 * Each of them was wanted whenever its task ran anywhere, but runs on its own CPU alone: of a task
 * that moved, enabled is the same on all CPUs, and running is the sum over the CPUs it was seen on
 * (a task of 0.3 s on CPU 0 and 0.5 s on CPU 1 has 0.8/0.3 and 0.8/0.5 there: the factor is 1).
 * Values and times of a sample are its own thread's since that thread began.
 *
 * Recordings without these times have no factors: mux_build gives an
 * object that says so (`told` is false), never one of 1.0.
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
	bool told;
	double mean;	    /* enabled / running over all of it; NAN: it never ran */
	double least, most; /* of the windows */
	uint64_t windows;
};

int mux_build(struct mux **out, const struct pd *rec, unsigned threads, struct err *err) MUST_USE;
const struct mux_event *mux_events(const struct mux *m, size_t *n); /* by event index */
/* `stream`: cpu or tid, whichever mux_by_cpu() says. NAN: not told. */
double mux_factor(const struct mux *m, uint32_t event, uint32_t stream, uint64_t time);
bool mux_by_cpu(const struct mux *m);
void mux_free(struct mux *m);

#endif
