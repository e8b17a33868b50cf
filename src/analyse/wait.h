/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait - how the threads of a recording spent their time: running, waiting for a CPU, or blocked,
 * with the reason.
 *
 *	wait_build(&w, rec, spaces, &opts, &err)
 *	... w->thread, w->span, w->reason, w->place, w->waker ...
 *	wait_free(w)
 *
 * A thread's life, from its fork or its first record to its exit or the recording's end, is cut
 * into spans. Each span has one reason, each reason one state, so that the times of all reasons add
 * up to the life (asserted). Spans come from switch records (record --wait; perf record
 * --switch-events), from sched:sched_switch (perf sched record), or from both; the call chain at
 * the switch from sched_switch or the event context-switches; the waker and the time from
 * sched:sched_waking, else sched_wakeup. Tracepoints are read at the places that their fields have
 * had on 64-bit kernels since Linux 2.6.35.
 *
 * Reasons. A thread that left the CPU while it could run was preempted; if the CPU then had nothing
 * to run, a quota kept the thread off it (throttled), or core scheduling did, which leaves a CPU
 * idle rather than let it run beside a task with another cookie: no record distinguishes the two.
 * Else the functions on its stack give the reason (wait_function.def): the innermost that the table
 * has, but a page fault is the reason for the input, output and locks below it. From its waking
 * until it ran a thread waited for a CPU; without a record of the waking, that time belongs to the
 * wait (w->unwoken).
 *
 * A recording of sched_switch alone may lack switches from the idle task. sched_stat_runtime then
 * has the time of the switch (perf sched record); without it, a thread is taken to run since
 * another one last did on its CPU, or since its waking (w->assumed).
 *
 * A CPU runs one thread at a time (asserted in parallel.c). A thread that was running is unknown
 * from its CPU's last record on if another one is seen there, if a switch there is not its own, or
 * if it is seen on another CPU; in a recording of tracepoints, also at the end. Time before the
 * first sample of such a recording is left out: forks are recorded sooner than switches there.
 *
 * Some chains. While there are very many switches, some have a chain only (record --wait). The
 * others get that of a wait of the same thread that the same waker ended, about as long, and near
 * in time: such spans are `guessed`, and sums by reason, place and chain have a bar. States, times
 * and wakers do not depend on chains. A wait that is like none with a chain has none
 * (WAIT_NO_STACK).
 *
 * Objects. What a wait was for is known if the switch was recorded with the call's first argument
 * (record --wait): a futex is a variable or an allocation by its address, a descriptor a file by
 * the looks at it (perfdata/waited.h): one during the wait, or two with the same file, before and
 * behind. Without, looks at the thread estimate how long it waited for what. All else is 0. The
 * line is that of the innermost frame outside of the C library, if no frame between can be missing:
 * not in a chain by frame pointers that begins in the library.
 *
 * Losses. Time in which records were lost is unknown, and so is a span whose ends contradict each
 * other (it ran, and then began to run); time outside of the loss is kept.
 *
 * Looks that the recording has (run; perfdata/waited.h) divide the waits without a chain among
 * reasons: in thread.time and things, not in spans and other sums. Threads with a reused number, or
 * that were seldom seen, are left alone.
 *
 * Costs: one pass in the order of the file, then a sort by time; 70 bytes a switch.
 */
#ifndef CYCLADE_ANALYSE_WAIT_H
#define CYCLADE_ANALYSE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/chain.h"
#include "analyse/selection.h"
#include "base/err.h"
#include "base/hash.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

enum wait_state { WAIT_RUNNING, WAIT_RUNNABLE, WAIT_BLOCKED, WAIT_UNKNOWN, WAIT_STATES };

enum wait_reason {
#define REASON(id, ...) WAIT_##id,
#include "analyse/wait_reason.def"
#undef REASON
	WAIT_REASONS
};

struct wait_reason_row {
	enum wait_state state;
	const char *name, *means;
};
extern const struct wait_reason_row wait_reasons[WAIT_REASONS];
const char *wait_state_name(enum wait_state s);

#define WAIT_NOBODY    UINT32_MAX	/* no waker was recorded */
#define WAIT_INTERRUPT (UINT32_MAX - 1) /* a timer, a device */
#define WAIT_NO_CPU    UINT32_MAX

struct wait_thread {
	uint32_t pid, tid;
	const char *comm; /* its last one */
	uint64_t from, until;
	uint64_t time[WAIT_REASONS]; /* ns; together until - from */
	uint64_t switches, preempted, moved;
	uint64_t started;   /* when it was made able to run (sched_wakeup_new); 0: not recorded */
	uint64_t accounted; /* ns, as the kernel counted them: sched_stat_runtime, summed */
	uint64_t migrated;  /* records of sched_migrate_task */
	uint64_t looks;	    /* wait_look: its reasons are estimates from so many; 0: they are not */
	uint32_t parent;    /* the thread that created it, or WAIT_NOBODY */
	uint32_t object; /* of w->object: the one that it waited for longest; 0: it is not known */
	uint64_t object_time;
	bool wanted; /* by the selection; the rest are here as wakers and for the use of CPUs */
};

struct wait_span {
	uint64_t from, until;
	uint32_t thread;
	uint32_t chain; /* of w->chain, at the switch; 0: none */
	uint32_t waker,
		waker_place; /* a thread or WAIT_*; the waker's place at that time, see w->place */
	uint32_t object;     /* of w->object; 0: not known */
	uint32_t from_line;  /* of w->line; 0: not known */
	uint32_t cpu;	     /* on which it ran, or had run; WAIT_NO_CPU: not recorded */
	uint8_t reason;
	bool sampled; /* its chain was recorded while some switches had one only */
	bool guessed; /* the chain is that of another wait */
	bool there;   /* it ran when the recording began: no switch gave it the CPU */
	bool idled;   /* it could go on, and its CPU became idle */
};

/* A function in which threads waited, or woke others. Place 0: none is known. */
struct wait_place {
	uint32_t image;		     /* IMAGE_NONE: in no mapping */
	const struct symbol *symbol; /* NULL: no symbol; the image as a whole */
	uint8_t kind;		     /* enum space_kind */
};

struct wait_time { /* spans of wanted threads that have something in common */
	uint64_t n, time, most;
	double bar; /* of time, ns: half its 95 % interval, if chains are those of other waits */
};

struct wait_reason_sum {
	struct wait_time t;
	uint64_t p50, p90, p99;
	uint64_t bucket[64]; /* spans of 2^i to 2^(i+1) ns */
};

struct wait_at { /* a place of waits */
	uint32_t place, chain;
	uint8_t reason;
	struct wait_time t;
};

/* A call that waits, in code outside of the C library. */
struct wait_line {
	uint32_t image, place;
	uint64_t addr; /* in the image, of the call */
};

struct wait_thing {		      /* what was waited for, and where from */
	uint32_t object, line, place; /* 0: not known */
	uint8_t reason;
	uint64_t looks; /* the time is an estimate from so many, and t.n is 0; 0: it is exact */
	struct wait_time t;
};

struct wait_waker {
	uint32_t waker, place, thread;
	uint8_t reason; /* that it ended */
	struct wait_time t;
};

struct wait_work;

struct wait {
	struct wait_work *work;	    /* until wait_end() */
	struct wait_thread *thread; /* by pid and tid, then time */
	size_t n_threads;
	struct wait_span *span; /* of all threads, in the order of their ends */
	size_t n_spans;
	struct wait_reason_sum reason[WAIT_REASONS];
	struct wait_at *place_sum,
		*chain_sum; /* longest first; off CPU only; chain_sum: by chain */
	size_t n_place_sums, n_chain_sums;
	struct wait_waker *waker; /* longest first */
	size_t n_wakers;
	struct wait_thing *thing; /* longest first; blocked and throttled only */
	size_t n_things;
	struct strtab object;	/* names, 0: "" */
	struct wait_line *line; /* 0: none */
	size_t n_lines;
	struct chain_tree chain; /* frames: places, outermost next to the root */
	uint32_t *chain_place;	 /* by chain: the function that waits, as in place_sum */
	struct wait_place *place;
	size_t n_places;
	uint64_t from, until;		     /* of the recording, clipped to the selection */
	uint64_t unwoken;		     /* waits that ended without a record of the waking */
	uint64_t contradicted, lost_windows; /* windows: pauses are some of them */
	uint64_t pauses;		     /* of switch records, which were too many for `run` */
	uint64_t waits, guessed, chainless; /* of wanted threads: blocked or preempted; see below */
	uint64_t assumed;		    /* times that a CPU was got without a record of it */
	/* Unwound chains, and those of them that end with the copied piece of the stack. */
	uint64_t unwound_chains, cut_chains;
	bool has_stacks, has_wakings, unwound; /* unwound: w->line is known of chains */
	bool outs_only; /* no record has the time when a thread got a CPU: most time is unknown */
	bool has_accounted, has_migrations; /* those records are there */
	bool has_idle; /* sched_switch of idle tasks: whole CPUs were recorded */
	bool cut;      /* the file ends early */
};

struct wait_opts {
	struct selection select; /* pids, tids, comm, time; the others are not looked at */
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
};

/* ERR_NOT_FOUND: the recording has no switches, or no times; the hint has the command that gets
 * them. */
int wait_build(struct wait **out, const struct pd *rec, struct spaces *spaces,
	       const struct wait_opts *opts, struct err *err) MUST_USE;
/* The same in a walk with others: begin adds a visitor to a pass of any selection, end is called
 * after the walk; again it does nothing. */
struct pass;
int wait_begin(struct wait **out, struct pass *pass, const struct pd *rec, struct spaces *spaces,
	       const struct wait_opts *opts, struct err *err) MUST_USE;
int wait_end(struct wait *w, struct err *err) MUST_USE;
/* Returns true if there is anything to build from. Costs nothing. */
bool wait_able(const struct pd *rec);
/* Returns the part of its life in one state; WAIT_STATES: in all of them. */
uint64_t wait_thread_time(const struct wait_thread *t, enum wait_state s);
/* Returns the time of waits for something: a thread without work waits for nothing. */
uint64_t wait_thread_waited(const struct wait_thread *t);
/* Returns the reason for which a function waits; WAIT_REASONS: not known. */
enum wait_reason wait_function_reason(const char *name, size_t len);
void wait_free(struct wait *w); /* NULL is fine */

#endif
