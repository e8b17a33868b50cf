/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel - how many threads ran at each time, and which functions ran while few did.
 *
 *	wait_build(&w, ...)
 *	parallel_begin(&p, pass, rec, spaces, w, event, &err)	a visitor of a walk
 *	parallel_end(p, &err)					after it
 *	... p->level, p->cpu, p->function ...
 *	parallel_free(p)	before wait_free(w)
 *
 * From the spans of wait.h: a thread runs from the record that gave it a CPU to the one that took
 * it away. A sample that was taken while n threads ran stands for one n-th of its period of wall
 * time (perf's latency). A thread that ran alone held up all that waited.
 *
 * A CPU is busy while a recorded thread runs on it: all threads are recorded with -a only. Idle
 * CPUs are `wanted` while some recorded thread could run and had no CPU: bad placement; the rest of
 * the idle time is lack of work. Time in which the state of some thread is unknown is counted as
 * `unknown`, too: then at least so many ran, and at most those and all in doubt (`most`), but not
 * more than there are CPUs. A recording in which more ran than that is wrong (`beyond`).
 *
 * Errors of shares: error_bar.h. Costs: a sort of the spans, one pass over the samples.
 */
#ifndef CYCLADE_ANALYSE_PARALLEL_H
#define CYCLADE_ANALYSE_PARALLEL_H

#include "analyse/wait.h"

struct parallel_share { /* sums of weights */
	double w, w2;
};

struct parallel_function {
	uint32_t place; /* of parallel.place */
	uint64_t samples, period;
	struct parallel_share cpu, wall, alone; /* alone: of `wall`, while it alone ran */
};

struct parallel_level { /* by number of running threads */
	uint64_t time;
	uint64_t wanting; /* of it while threads waited for a CPU */
	uint64_t unknown; /* of it while more may have run */
};

struct parallel_cpu {
	bool seen;
	uint64_t busy, wanted; /* ns; wanted: idle while threads waited for a CPU */
	uint64_t runnable;     /* of threads that had run here last, or (new ones) ran here next */
	uint64_t switches, arrivals; /* arrivals: of threads from another CPU */
	uint64_t from_nodes;	     /* of these: from a CPU of another NUMA node */
	int32_t node;		     /* NODE_NONE: not recorded */
};

struct parallel_node { /* sums of its CPUs */
	int32_t node;
	uint64_t cpus, busy, wanted, runnable, switches, from_nodes;
};

struct counting;

struct parallel {
	struct counting *work; /* until parallel_end() */
	struct parallel_level *level;
	size_t n_levels;
	struct parallel_cpu *cpu;   /* by number */
	size_t n_cpus;		    /* with the highest that is seen, or that of the header */
	struct parallel_node *node; /* ascending; none if there is one only */
	size_t n_nodes;
	struct parallel_function *function; /* most wall time first */
	size_t n_functions;
	struct parallel_function all; /* sums; place 0 */
	struct wait_place *place;
	size_t n_places;
	uint64_t unknown; /* ns */
	uint64_t beyond;  /* ns in which more threads ran than the machine has CPUs */
	double most;	  /* sum over time of how many threads ran at most, ns */
	bool whole;	  /* whole CPUs were recorded */
	size_t some;	  /* so many of them, not all that the machine has; 0: all */
};

struct pass;
/* `event`: of pd_events(); SIZE_MAX: none, functions are not wanted. The pass has the selection of
 * its samples. */
int parallel_begin(struct parallel **out, struct pass *pass, const struct pd *rec,
		   const struct spaces *spaces, const struct wait *w, size_t event,
		   struct err *err) MUST_USE;
int parallel_end(struct parallel *p, struct err *err) MUST_USE;
void parallel_free(struct parallel *p); /* NULL is fine */

#endif
