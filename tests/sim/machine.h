/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine - the simulated machine: its PMUs, what their events can be counted on, and how fast each
 * event counts while a program runs. Read once from a machine file (machines/NAME.tab, written by
 * tools/plant.py; README.md has the format), never changed after that.
 */
#ifndef CYCLADE_SIM_MACHINE_H
#define CYCLADE_SIM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PMUS     32
#define SIM_PROGRAMS 64
#define SIM_NAME     64
#define SIM_CPUS     256

struct sim_cpus {
	uint64_t bits[SIM_CPUS / 64];
};

static inline bool sim_cpus_have(const struct sim_cpus *set, int cpu)
{
	return cpu >= 0 && cpu < SIM_CPUS && set->bits[cpu / 64] >> (cpu % 64) & 1;
}

/* Whose rules a PMU has (rules.c). */
enum sim_driver { SIM_UNCORE, SIM_MSR, SIM_INTEL, SIM_AMD, SIM_IBS, SIM_ARM, SIM_SPE };

struct sim_pmu {
	char name[SIM_NAME];
	uint32_t type;	  /* attr.type */
	uint32_t gp;	  /* general counters, a bit each, as seen with SMT on */
	uint32_t alone;	  /* the same with SMT off */
	uint32_t fixed;	  /* fixed counters, a bit each */
	unsigned offcore; /* OFFCORE_RSP registers */
	bool raw;	  /* PERF_TYPE_RAW means this PMU, too */
	bool core;	  /* counts programs: tasks may be attached */
	bool watchdog;	  /* the NMI watchdog counts cycles here where it is on */
	unsigned precise; /* highest precise_ip */
	enum sim_driver driver;
	unsigned lbr;	 /* branch records; 0: none */
	bool callstack;	 /* branch records can follow calls (since Haswell) */
	bool pebs_plain; /* precise: general counters, without edge, inv, cmask (before Ice Lake) */
	uint32_t pdist;	 /* general counters that can :ppp; 0: all */
	uint32_t ibs;	 /* its capabilities: CPUID Fn8000_001B EAX */
	bool aux;	 /* load latency needs its auxiliary event */
	struct sim_cpus cpus; /* where it counts; of an uncore PMU, where it is opened */
};

enum sim_flag {
	SIM_SLOTS = 1,	   /* leads PERF_METRICS */
	SIM_METRIC = 2,	   /* a field of PERF_METRICS; `field` says which */
	SIM_ANY = 4,	   /* counts for every thread of the core */
	SIM_OFFCORE = 8,   /* holds an OFFCORE_RSP register with config1 */
	SIM_FRONTEND = 16, /* holds the one FRONTEND register with config1 */
	SIM_LDLAT = 32,	   /* holds the one load latency register with config1 */
	SIM_FREE = 64,	   /* needs no counter (msr, IBS, free-running uncore) */
	SIM_PAIR = 128,	   /* takes two neighbouring counters */
	SIM_CLOCKS = 512,  /* clocks: full even where threads share the core's width */
	SIM_WALL = 256,	   /* runs with the clock, not with the program (TSC) */
};

struct sim_event {
	uint32_t pmu; /* index */
	uint64_t config, config1;
	uint32_t gp, fixed; /* counters it can be on */
	unsigned flags, field;
	char name[SIM_NAME];
	double latency;		   /* mean retire latency in core cycles; 0: none */
	double rate[SIM_PROGRAMS]; /* counts per ns */
};

struct sim_alias { /* of PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE */
	uint32_t type;
	uint64_t config;
	uint32_t pmu;
	uint64_t to;
};

struct sim_rule { /* codes (config & 0xff) that only some counters count */
	uint32_t pmu, low, high, gp;
};

struct sim_machine {
	char name[SIM_NAME];
	struct sim_pmu pmu[SIM_PMUS];
	uint32_t n_pmus;
	char program[SIM_PROGRAMS][SIM_NAME];
	uint32_t n_programs;
	struct sim_event *event;
	size_t n_events;
	struct sim_alias *alias;
	size_t n_aliases;
	struct sim_rule *rule;
	size_t n_rules;
	struct sim_cpus siblings[SIM_CPUS]; /* by CPU: the threads of its core */
	uint32_t n_cpus;
	bool smt;
};

/* 0, or -1 with a message on stderr: a machine file that cannot be read must stop the test. */
int sim_machine_load(struct sim_machine *m, const char *path);
/* Settles how many counters there are: with `smt` CPUs become threads of cores in pairs;
 * `counters`, if not 0, goes over what core PMUs have. */
void sim_machine_finish(struct sim_machine *m, bool smt, unsigned counters);

/* The PMU an attr is for and the config it has there (generic names resolved, the PMU of an
 * extended hardware type taken off); NULL: not one of ours. */
const struct sim_pmu *sim_machine_pmu(const struct sim_machine *m, uint32_t type, uint64_t config,
				      uint64_t *own, bool *unknown);

/* The event with this encoding. An encoding that the table does not have counts nothing, on the
 * counters that the nearest row (same event and umask, then the rules for codes) allows: *out is
 * filled, false returned. */
bool sim_machine_event(const struct sim_machine *m, const struct sim_pmu *pmu, uint64_t config,
		       uint64_t config1, struct sim_event *out);

int sim_machine_program(const struct sim_machine *m, const char *name); /* -1: none of this name */
struct sim_cpus sim_cpulist(const char *text);				/* "0-3,5" */

#endif
