/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * critical - the work for which the end of a thread waited, and the gain if that work were less.
 *
 *	wait_build(&w, ...)
 *	critical_begin(&c, pass, rec, spaces, w, &opts, &err)	a visitor of a walk
 *	critical_end(c, &err)					after it
 *	... c->row, c->step ...
 *	critical_free(c)	before wait_free(w)
 *
 * The path. From the end of the chosen thread backwards: while the thread ran, was runnable or
 * waited for a timer or a device, that is on the path. If it waited for another thread (the waker),
 * the path goes on in that thread at the time of the waking, and from its creation on in its
 * creator. So the path is as long as the recording, or as the threads on it lived. CPU time is that
 * of the nearest sample of the same thread.
 *
 * Gains come from a replay of all threads: CPU time and timers take as long as recorded, minus the
 * part left out; a wait ends with its waking; threads share the CPUs evenly if there are more than
 * CPUs; time that a thread waited for a CPU while others than the recorded threads had it stays. So
 * another path may become the longest. The error bar has: too few samples; the difference between
 * `base`, the replay with nothing left out, and the recording; mutexes, which threads may then get
 * in another order; threads that end before the path does; a twentieth of the gain for timers,
 * caches and the clock rate. Not in it: waits that only the change would bring.
 *
 * Costs: a sort of the samples, 24 bytes a span and sample, a replay of all spans for each gain.
 */
#ifndef CYCLADE_ANALYSE_CRITICAL_H
#define CYCLADE_ANALYSE_CRITICAL_H

#include "analyse/wait.h"
#include "base/estimate.h"

enum { CRITICAL_TENTH, CRITICAL_HALF, CRITICAL_ALL, CRITICAL_GAINS };

struct critical_row { /* a function that ran on the path, or a wait */
	struct wait_place place;
	uint8_t reason;
	uint64_t time;			      /* ns on the path */
	uint64_t first, last;		      /* when it was on it */
	uint64_t samples;		      /* on the path */
	uint64_t unended;		      /* of time: see struct critical */
	struct estimate share;		      /* of the path */
	struct estimate gain[CRITICAL_GAINS]; /* parts of `length`, if so much of it were gone */
};

struct critical_step { /* a stretch of the path in one thread */
	uint64_t from, until;
	uint32_t thread; /* of wait.thread */
	uint32_t row;	 /* the row with most of it */
	uint64_t row_time;
	uint32_t next_reason; /* the reason of the next thread's wait; WAIT_REASONS: it is the
			       * last */
	uint32_t waker_place; /* of wait.place: the place of the waking */
};

struct critical_thread {
	uint32_t thread;
	uint64_t time;
};

struct critical_work;

struct critical {
	struct critical_work *work; /* until critical_end() */
	struct critical_row *row;   /* most time first */
	size_t n_rows;
	struct critical_step *step; /* in the order of time */
	size_t n_steps;
	struct critical_thread *thread; /* most time first */
	size_t n_threads;
	uint32_t end;	      /* the path begins at this thread's end */
	uint64_t from, until; /* of the path */
	double base;	      /* ns: the replay of [wait.from, until) */
	uint64_t samples;     /* on the path */
	uint64_t running;     /* ns of the path */
	/* ns: records were lost; waits that another thread may have ended, which is not recorded */
	uint64_t unknown, unended;
	size_t cpus;	 /* that the replay has */
	size_t replayed; /* rows that have gains */
};

struct critical_opts {
	size_t event;	 /* of pd_events(); SIZE_MAX: none, functions are not known */
	size_t replayed; /* rows to have gains at most; fewer if spans are many */
};

/* ERR_NOT_FOUND: no thread is wanted. */
struct pass;
int critical_begin(struct critical **out, struct pass *pass, const struct pd *rec,
		   const struct spaces *spaces, const struct wait *w,
		   const struct critical_opts *opts, struct err *err) MUST_USE;
int critical_end(struct critical *c, struct err *err) MUST_USE;
void critical_free(struct critical *c); /* NULL is fine */

#endif
