/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting - counters beside a program, tasks or CPUs: who is counted, when, and the loop around
 * it. What is counted and what becomes of it is its user's (hooks). Recordings use it, too, with
 * counters of the tree beside their samples or with none at all: there is but one loop.
 *
 *	counting_open(&k, opts, "count", parts, &err)
 *						machine, targets, signals
 *	counting_run(&k, &setup, &hooks, &err)	once, or as often as wanted: each run starts the
 *						program anew with counters of its own
 *	counting_close(&k)
 *
 * counting_run is counting_prepare, hooks' opened(), counting_watch, hooks' ended() and
 * counting_end; who has more to open between the first two calls them himself.
 *
 * --pre goes before counting_prepare's program, --post behind ended(). Neither is counted.
 *
 * Everything that can fail for want of counters fails before the program executes anything: hooks'
 * opened() is the last that is asked.
 */
#ifndef CYCLADE_MEASURE_COUNTING_H
#define CYCLADE_MEASURE_COUNTING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/counter.h"
#include "collect/machine.h"
#include "collect/offspring.h"
#include "collect/workload.h"
#include "measure/measure_opts.h"
#include "measure/control.h"
#include "measure/targets.h"

struct counting_result {
	double wall_s, user_s, sys_s; /* user, sys: of the program and what it waited for */
	int status;		      /* of the program, as exit codes go */
	int killed_by;		      /* the signal that ended it; 0: none, or not known */
	int signal;		      /* that came before the program ended; 0: none did */
	bool interrupted, early;      /* early: ... and counting ended before the program */
	bool left, outlived; /* the program goes on without us; or what it has started does */
};

struct counting {
	const struct measure_opts *opts;
	const char *root; /* --sysroot, or "" */
	struct machine machine;
	struct targets who;
	struct control control;
	bool has_program;
	struct counters *c; /* while a run lasts; NULL: nothing is counted */
	const struct counter_setup *setup;
	struct counter_setup nothing; /* the setup where nothing is counted */
	bool *on;      /* by group: counts now, or will when counting begins; the user's to change
			* through counting_switch */
	bool counting; /* between enabling and disabling */
	bool began;    /* counting was on at some time */
	uint64_t start, now, stop; /* ns of the monotonic clock: of this run, of this round, of the
				    * end of counting */
	struct counting_result result;
	struct workload work;
	struct offspring offspring; /* of it, where --no-inherit does not leave them out */
	int signals;
	int wake; /* a file descriptor to look at, too: hooks' woken(); -1 */
	sigset_t old_mask;
	bool mask_set, stopped, enough; /* enough: end counting (the reader went away) */
};

struct counting_hooks {
	/* The counters are open, nothing counts yet. */
	int (*opened)(void *ctx, struct counting *k, struct err *err);
	/* Every tick() nanoseconds, if given (0: not again), and once at the end. */
	int (*read)(void *ctx, struct counting *k, struct err *err);
	uint64_t (*tick)(void *ctx);
	/* -I: an interval ended; the last one is as long as it is. */
	int (*interval)(void *ctx, struct counting *k, struct err *err);
	/* Counting begins, or ends, for all there is: -D, --control, the end. What samples goes
	 * with it; what exec begins by itself is not told. */
	int (*switched)(void *ctx, struct counting *k, bool on, struct err *err);
	/* There is something to read at k->wake. */
	int (*woken)(void *ctx, struct counting *k, struct err *err);
	/* SIGUSR1. */
	int (*so_far)(void *ctx, struct counting *k, struct err *err);
	/* Counting is over and the program has ended; counters are still open. */
	int (*ended)(void *ctx, struct counting *k, struct err *err);
	void *ctx;
};

/* `what`: "count", for messages; `parts`: what to know of the machine (enum machine_part), beside
 * what --per needs. counting_close is due after a failure too. */
int counting_open(struct counting *k, const struct measure_opts *opts, const char *what,
		  unsigned parts, struct err *err) MUST_USE;
/* The setup's groups, flags and nothing else need be filled in: whom to count is put in here. */
int counting_run(struct counting *k, struct counter_setup *setup,
		 const struct counting_hooks *hooks, struct err *err) MUST_USE;
/* --warmup: runs of the program that nobody measures; once, before the first that is. */
int counting_warmup(struct counting *k, struct err *err) MUST_USE;
/* A program that waits to be started, and counters on it; setup NULL: none. counting_end is due
 * after a failure too. */
int counting_prepare(struct counting *k, struct counter_setup *setup, struct err *err) MUST_USE;
/* Starts what is to be counted and stays until it is over; fills in the result. */
int counting_watch(struct counting *k, const struct counting_hooks *hooks,
		   struct err *err) MUST_USE;
/* Stops counting for good, ahead of time. */
int counting_stop(struct counting *k, const struct counting_hooks *hooks, struct err *err) MUST_USE;
/* --post, after the program has ended. */
int counting_after(struct counting *k, struct err *err) MUST_USE;
/* Closes the counters; a program that was never started ends, another one is waited for. */
void counting_end(struct counting *k);
/* Switches a group; while nothing counts it is only noted. */
int counting_switch(struct counting *k, size_t group, bool on, struct err *err) MUST_USE;
void counting_close(struct counting *k);

/* The clock of start and now, in ns. */
uint64_t counting_clock(void);
/* Seconds since the run began, in which something was counted. */
static inline double counting_seconds(const struct counting *k)
{
	return (double)((k->stopped ? k->stop : k->now) - k->start) / 1e9;
}

/* --dry-run: groups, what the kernel is asked with, the perf line like it. */
void counting_describe(struct buf *out, const struct counting *k, const struct counter_setup *s);

#endif
