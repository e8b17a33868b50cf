/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halted - the share of time in which each CPU was halted, over time.
 *
 *	wait_build(&w, ...), parallel_begin(&p, ...)
 *	halted_begin(&h, pass, rec, w, p, &opts)	a visitor of a walk
 *	halted_end(h)					after it
 *	... h->cpu, h->span ...
 *	halted_free(h)
 *
 * By a counter: one less unhalted reference cycles per cycle of the time-stamp counter, from the
 * samples of ref-cycles of whole CPUs, user space and kernel. Between two samples of a CPU the
 * event counted one period, or as much as its value grew, if samples have it (PERF_SAMPLE_READ).
 * Where in between is not known, but a clock does not run faster than its rate: this gives the
 * least and the most that each interval may have counted. The share is the middle of both, `half`
 * reaches to either, and allows for the error of the rate. Time without a counter (multiplexed,
 * throttled) and time in which samples were lost may have counted anything.
 *
 * By switches, for CPUs without samples of such an event: halted is while no thread has the CPU.
 * This is the most that it may be: interrupts and the polling of the idle task are in it. `half`
 * allows for threads if it is not known whether or where they ran.
 *
 * Costs: a pass over the samples of the event, 24 bytes for each; a walk over the spans.
 */
#ifndef CYCLADE_ANALYSE_HALTED_H
#define CYCLADE_ANALYSE_HALTED_H

#include "analyse/parallel.h"
#include "base/estimate.h"

#define HALTED_INTERVALS 20u /* of equal length */

enum halted_by { HALTED_UNKNOWN, HALTED_COUNTER, HALTED_SWITCHES };

struct halted_span {
	uint32_t cpu;
	enum halted_by by;
	uint64_t from, until;  /* ns, from the beginning of the interval */
	struct estimate share; /* no value: why has the reason */
};

struct halt_work;

struct halted {
	struct halt_work *work;	  /* until halted_end() */
	struct halted_span *cpu;  /* by number: over all of the time */
	size_t n_cpus;		  /* as parallel.n_cpus */
	struct halted_span *span; /* by CPU, then time; one only if nothing is known */
	size_t n_spans;
	const char *event;     /* that counted; NULL: none */
	const char *uncounted; /* why none did; NULL: one did */
};

struct halted_opts {
	double tsc_hz;	  /* 0: not known */
	double tsc_error; /* of it, in parts */
};

struct pass;
/* `p` has its CPUs by parallel_begin(). */
void halted_begin(struct halted **out, struct pass *pass, const struct pd *rec,
		  const struct wait *w, const struct parallel *p, const struct halted_opts *opts);
void halted_end(struct halted *h);
void halted_free(struct halted *h); /* NULL is fine */

#endif
