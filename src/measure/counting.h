/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting - counters beside a program, tasks or CPUs: targets, times, and the loop around it.
 * Recordings use it, too, with counters of the tree beside their samples or with none at all: there
 * is but one loop.
 *
 *	counting_open(&k, opts, "count", parts, &err)	machine, targets, signals
 *	counting_prepare(&k, &setup, &reader, &err)	a program that waits, counters on it
 *	counting_next(&k, &what, &err)			until COUNTING_OVER: results are there
 *	counting_finish(&k, rc, &err)			--post; closes the counters
 *	counting_close(&k)
 *
 * counting_next() goes on until there is something for its caller to do, and is called again. A
 * reader takes the readings meanwhile: drill (drill_start), events (counting_events_start) and
 * monitor's groups have one. From counting_prepare() to counting_finish() is a run; each starts the
 * program anew with counters of its own.
 *
 * --pre goes before counting_prepare's program, --post behind the results. Neither is counted.
 *
 * Everything that can fail if there are no counters fails before the first counting_next(): until
 * then the program executes nothing.
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
#include "plan/plan.h"

struct counting;

struct counting_result {
	double wall_s, user_s, sys_s; /* user, sys: of the program and its children */
	int status;		      /* of the program, as exit codes go */
	int killed_by;		      /* the signal that ended it; 0: none, or not known */
	int signal;		      /* that came before the program ended; 0: none did */
	bool interrupted, early;      /* early: ... and counting ended before the program */
	bool left, outlived;	      /* the program goes on without us; or its children do */
};

enum counting_event {
	COUNTING_OVER,	   /* the run has ended; its counters are still open */
	COUNTING_SO_FAR,   /* SIGUSR1 */
	COUNTING_SNAPSHOT, /* SIGUSR2, or by --control; only if opts ask for several files */
	COUNTING_WOKEN,	   /* k->wake can be read */
	COUNTING_DUE,	   /* k->due has come */
	COUNTING_INTERVAL, /* -I: an interval ended; the last one is as long as it is */
};

/* Reads the counters while they count; a member may be NULL. */
struct counting_reader {
	/* Every tick() nanoseconds (0: not again), before an interval's end, and at last. */
	int (*read)(void *ctx, struct counting *k, struct err *err);
	uint64_t (*tick)(void *ctx);
	/* Counting begins, or ends, for all counters: -D, --control, the end. Samplers follow it.
	 * Not called for counters that exec starts. */
	int (*switched)(void *ctx, struct counting *k, bool on, struct err *err);
	void *ctx;
};

struct counting_loop { /* of one run; times are those of the clock, or COUNTING_NEVER */
	uint64_t end, enable, leave, remind, tick, interval;
	uint64_t interval_ns;
	unsigned interrupts, pending; /* pending: bits of enum counting_event */
	bool began, over;
	bool ended;  /* the program, in an earlier round */
	bool retick; /* the next tick is to be chosen, once the caller is back */
};

#define COUNTING_NEVER UINT64_MAX

struct counting {
	const struct measure_opts *opts;
	const char *root; /* --sysroot, or "" */
	struct machine machine;
	struct targets who;
	struct control control;
	bool has_program;
	struct counters *c; /* while a run lasts; NULL: nothing is counted */
	const struct counter_setup *setup;
	struct counter_setup nothing; /* the setup if nothing is counted */
	struct counting_reader reader;
	struct counting_loop loop;
	bool *on;      /* by group: counts now, or will when counting begins; the reader's to change
			* through counting_switch */
	bool counting; /* between enabling and disabling */
	bool began;    /* counting was on at some time */
	uint64_t start, now, stop; /* ns of the monotonic clock: of this run, of this round, of the
				    * end of counting */
	struct counting_result result;
	struct workload work;
	struct offspring offspring; /* of it, unless --no-inherit leaves them out */
	int signals;
	int wake;     /* a file descriptor to look at, too; -1 */
	uint64_t due; /* when the caller has something to do; COUNTING_NEVER */
	sigset_t old_mask;
	bool owes;			/* an answer to --control */
	bool mask_set, stopped, enough; /* enough: end counting (the reader went away) */
};

/* `what`: "count", for messages; `parts`: facts of the machine to read (enum machine_part), beside
 * those that --per needs. counting_close is due after a failure too. */
int counting_open(struct counting *k, const struct measure_opts *opts, const char *what,
		  unsigned parts, struct err *err) MUST_USE;
/* --warmup: unmeasured runs of the program; once, before the first measured one. */
int counting_warmup(struct counting *k, struct err *err) MUST_USE;
/* A program that waits to be started, and counters on it: the setup's groups and flags are the
 * caller's, this adds the targets; NULL: none. `reader` is copied; NULL: none. counting_end() or
 * counting_finish() is due after a failure too. */
int counting_prepare(struct counting *k, struct counter_setup *setup,
		     const struct counting_reader *reader, struct err *err) MUST_USE;
/* Starts the program, or counting, at its first call; fills in the result at the last. */
int counting_next(struct counting *k, enum counting_event *what, struct err *err) MUST_USE;
/* The snapshot is there: answers the control that asked for it. */
void counting_snapshot_done(struct counting *k);
/* Stops counting for good, ahead of time. */
int counting_stop(struct counting *k, struct err *err) MUST_USE;
/* The end of a run that came to `rc`: --post unless it failed, then counting_end(). */
int counting_finish(struct counting *k, int rc, struct err *err) MUST_USE;
/* --post, after the program has ended. */
int counting_after(struct counting *k, struct err *err) MUST_USE;
/* Closes the counters; a program that was never started ends, another one is waited for. */
void counting_end(struct counting *k);
/* Switches a group; while nothing counts it is only noted. */
int counting_switch(struct counting *k, size_t group, bool on, struct err *err) MUST_USE;
void counting_close(struct counting *k);

/* The scope of a plan for it. */
static inline struct plan_scope counting_scope(const struct counting *k)
{
	return (struct plan_scope){ .root = k->root,
				    .machine = &k->machine,
				    .cpus = k->who.whole_cpus ? k->who.cpus.v : NULL,
				    .n_cpus = k->who.whole_cpus ? k->who.cpus.n : 0,
				    .cgroup = k->who.cgroup_fd >= 0,
				    .tries = !k->opts->dry_run };
}

/* The clock of start and now, in ns. */
uint64_t counting_clock(void);
/* Seconds since the run began, in which something was counted. */
static inline double counting_seconds(const struct counting *k)
{
	return (double)((k->stopped ? k->stop : k->now) - k->start) / 1e9;
}

/* --dry-run: groups, attributes for the kernel, the same as a perf command. */
void counting_describe(struct buf *out, const struct counting *k, const struct counter_setup *s);

#endif
