/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context - events of one task (or CPU) and the kernel's turn-taking between their groups.
 *
 * A context has a clock: a software event of the real kernel that runs while the task does. All
 * that a simulated counter says follows from what that clock says, so two tools that read the same
 * program see the same thing. sim_context_advance() replays what the kernel and the PMU would have
 * done up to now: groups in the order of opening, each on the counters only if all its events fit
 * beside those before it, no further one after the first that does not fit, the first in the row
 * going to its end every interval.
 *
 * Nothing here locks: preload.c does.
 */
#ifndef CYCLADE_SIM_CONTEXT_H
#define CYCLADE_SIM_CONTEXT_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "machine.h"
#include "program.h"

#define SIM_EVENTS_MAX 4096 /* of one context */

struct sim {
	struct sim_machine machine;
	struct sim_scenario scenario;
	const char *truth; /* file, or NULL */
	bool debug;
};

enum sim_state { SIM_ERROR, SIM_OFF, SIM_ON };

struct sim_counter { /* one event that somebody opened */
	int fd;
	uint64_t id;
	bool of_kernel;		     /* it, or one that it leads, is a software event, or samples */
	struct perf_event_attr attr; /* as it was asked for */
	struct sim_context *context;
	struct sim_counter *leader; /* itself where it leads */
	struct sim_counter *next;   /* of the context, in the order of opening */
	const struct sim_pmu *pmu;  /* NULL: a software event in a group of ours */
	struct sim_event event;
	struct sim_side side;

	enum sim_state state;
	bool wait_exec;		  /* to be enabled by exec */
	bool running;		  /* its group is on the counters now */
	uint64_t turn;		  /* of a leader: order in its PMU's row */
	double count, true_count; /* true_count: as if it were never without a counter */
	double whole;		  /* as if it were never off, either */
	uint64_t enabled, ran;
	uint64_t *turns_on; /* of a leader, turns.c: of the first n turns, in how many it was on */
	uint32_t n_turns;
	bool reads; /* its real event's samples tell what it had counted, and nobody asked */
	struct sim_thread *thread; /* sample.c: of each thread that had a sample */
	size_t n_threads;
	/* PERF_METRICS: since the last reset of the register; `count` holds what was before */
	double since, slots_since;
};

struct sim_context {
	struct sim_context *next;
	pid_t pid; /* -1: a CPU's */
	int cpu, cgroup;
	bool inherit;
	bool own; /* of the thread that asked */
	int clock_fd;
	bool clock_runs, clock_on_exec;
	uint64_t now, tick, turns;
	uint64_t began; /* of a whole CPU, and on paper: what its clock's clock said */
	struct sim_cursor cursor;
	struct sim_counter *first;
	bool stale;	  /* who is on must be worked out anew */
	bool turns_known; /* turns.c */
};

extern struct sim_context *sim_contexts; /* all there are */

/* fit.c: can these events be counted at once on this PMU? `watchdog`: with the watchdog's counter
 * taken; `held`: without these counters (bit n: general, 32 + n: fixed). */
bool sim_fit(const struct sim_pmu *pmu, const struct sim_event *const *event, size_t n,
	     bool watchdog, uint64_t held);

void sim_context_advance(const struct sim *sim, struct sim_context *c, uint64_t now);
/* As PERF_EVENT_IOC_ENABLE, _DISABLE and _RESET do, at the context's present time. */
void sim_counter_enable(struct sim_context *c, struct sim_counter *k, bool on);
void sim_counter_reset(struct sim_counter *k);
/* exec: what waited for it is enabled. */
void sim_context_exec(struct sim_context *c);
void sim_context_add(struct sim_context *c, struct sim_counter *k);
/* Siblings of a leader that goes become leaders. */
void sim_context_remove(struct sim_context *c, struct sim_counter *k);

/* metrics.c: the count of an event as a read would give it now. */
uint64_t sim_counter_value(const struct sim *sim, const struct sim_counter *k);
/* What the kernel does after each read of a group with slots: the register begins anew. */
void sim_metrics_reset(const struct sim *sim, struct sim_counter *leader);
/* values.c: rewrites what read() gave for `k`; returns the number of bytes. */
/* The same layout without the kernel's answer: room for sim_values_rewrite(). */
ssize_t sim_values_make(const struct sim_counter *k, void *buf, size_t n);
ssize_t sim_values_rewrite(const struct sim *sim, struct sim_counter *k, void *buf, size_t n);

/* turns.c: is the counter on when its group has been wanted here for so many ns, and how long was
 * it on until then? For samples, whose task need not be the one that the context follows: all
 * groups of the context are taken to be wanted all the time, and the scenario's phases are not
 * looked at. */
bool sim_turns_on(const struct sim *sim, struct sim_counter *k, uint64_t wanted, uint64_t *running);

/* truth.c: one line on an event that is being closed. */
void sim_truth_write(const struct sim *sim, const struct sim_counter *k);

#endif
