/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program - what the simulated machine runs: phases of known length, in each of which every event
 * counts at the known rate of one of the machine's programs.
 *
 * A scenario is the name of a program (one phase without end) or a file (README.md). Time is what
 * the context itself ran: the same for every run of a test, however busy the host is.
 */
#ifndef CYCLADE_SIM_PROGRAM_H
#define CYCLADE_SIM_PROGRAM_H

#include "machine.h"

#define SIM_PHASES 256

struct sim_phase {
	uint32_t program;
	uint64_t least, most; /* length in ns: drawn between them; 0: for ever */
	double scale;	      /* of every rate */
	double share;	      /* of the core's width: the other thread has the rest */
	double kernel;	      /* share of the counts made in the kernel */
	int on;		      /* the core PMU a task runs on; -1: the first */
};

struct sim_override {
	char name[SIM_NAME];
	double rate;
};

struct sim_settings {
	uint64_t interval; /* ns between rotations */
	bool watchdog;
	bool smt; /* CPUs 2n and 2n + 1 are threads of one core, whatever the machine says */
	unsigned counters; /* general counters of core PMUs instead of the machine's; 0: as they are
			    */
	uint64_t held;	   /* counters somebody else has: bit n general, 32 + n fixed */
	uint64_t gone;	   /* ns of a context's time after which its counters are no more; 0 */
	int gone_cpu;	   /* of this CPU alone; -1: of all, and of tasks */
	uint64_t held_from;    /* ns of a context's time after which that is so */
	bool metrics_filter;   /* refuse exclude_user and exclude_kernel with PERF_METRICS */
	bool exact_metrics;    /* no 8-bit fields */
	double latency_spread; /* of retire latencies, relative */
	uint64_t loop;	       /* ops of a loop: IBS samples 40 % of them as loads that miss; 0 */
	bool sharing;	       /* plant shared cache lines: access.h */
	bool no_latency;       /* a kernel that leaves them 0 */
	int linux_version;     /* 611 is Linux 6.11; 0: the newest */
	unsigned nodes;	       /* of NUMA: sockets of one CPU each; 0: one of all */
	int precise;	       /* most precise_ip instead of the PMU's; -1: as it is */
};

struct sim_scenario {
	struct sim_phase phase[SIM_PHASES];
	uint32_t n_phases;
	bool repeat;
	uint64_t seed;
	int cpu_program[SIM_CPUS]; /* by CPU: -1 the phases, -2 idle, else this program for ever */
	struct sim_override override[64];
	uint32_t n_overrides;
	struct sim_settings set;
};

/* `text`: the name of a program, or the path of a scenario file. Options ("watchdog=1
 * interval_us=4000 counters=6") may be NULL. -1 with a message on stderr. */
int sim_scenario_load(struct sim_scenario *s, struct sim_machine *m, const char *text,
		      const char *options);

struct sim_cursor { /* where in the scenario a context is; zero-initialise, then sim_cursor_at() */
	uint64_t number, start, end; /* number of the phase from the beginning; end 0: for ever */
	const struct sim_phase *phase;
};

/* Moves on to the phase that `now` lies in; `now` never goes back. */
void sim_cursor_at(const struct sim_scenario *s, struct sim_cursor *c, uint64_t now);

/* Counts per ns of an event in a phase, on a CPU (-1: of a task), by a program that runs in user
 * mode, kernel mode or both. */
struct sim_side {
	bool user, kernel;
};
double sim_rate(const struct sim_scenario *s, const struct sim_machine *m,
		const struct sim_event *e, const struct sim_phase *phase, int cpu,
		struct sim_side side);

#endif
