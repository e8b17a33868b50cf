/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan - the ground of a plan of counting: the facts of the machine that formulas ask for, the
 * model of its cores, and which of their counters are free. Everything that counts takes it from
 * here: drill, record --account, monitor, compare, validate and libcyclade.
 *
 *	plan_facts(system, &scope)		facts, [SYSTEM_COUNT]; NAN: not known
 *	plan_model(&m, &limits, &choice, &scope, pmu, system, &err)
 *						the model of one kind of cores, its counters
 *	plan_limits(&limits, m, &scope, pmu, smt)	the counters alone, as they are now
 *	plan_make(&p, arena, m, &limits, &wish, &err)	model/plan.h: groups of events
 *
 * Which counters are free is found out with real events (model/schedule.h, collect/vacant.h), on
 * the CPUs that are to be counted, or for a program on the calling thread. That takes a few
 * milliseconds if nobody else counts, some 100 ms if others hold counters.
 */
#ifndef CYCLADE_PLAN_PLAN_H
#define CYCLADE_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "collect/machine.h"
#include "model/schedule.h"
#include "plan/model_choice.h"

struct plan_scope {		       /* the machine, and the part of it to count */
	const char *root;	       /* before /sys and /proc; "" */
	const struct machine *machine; /* with MACHINE_TOPOLOGY, MACHINE_PMUS */
	const uint32_t *cpus;	       /* whole CPUs; NULL: a program, wherever it runs */
	size_t n_cpus;
	bool cgroup;	/* on these CPUs the tasks of a cgroup alone */
	bool user_only; /* the kernel may not be counted */
	bool tries;	/* events may be opened; false: another machine, or a dry run */
};

void plan_facts(double system[SYSTEM_COUNT], const struct plan_scope *s);
/* Facts of a piece of the run: its length, and time stamps on that many logical processors. */
void plan_times(double system[SYSTEM_COUNT], double seconds, size_t lps);
/* If somebody else has the counter of slots, the model has formulas that do without: then
 * system[SYSTEM_NO_SLOTS] becomes 1. model_free() it. */
int plan_model(struct model **out, struct schedule_limits *l, const struct model_choice *c,
	       const struct plan_scope *s, const char *pmu, double *system,
	       struct err *err) MUST_USE;
/* Never fails: a counter of which nothing is known is free. */
void plan_limits(struct schedule_limits *l, const struct model *m, const struct plan_scope *s,
		 const char *pmu, bool smt);
/* "2 of 4 general counters are held by somebody else (events are open in perf (812))"; NULL: none
 * but the watchdog's is, or it is not known. */
const char *plan_limits_note(struct arena *a, const char *root, const char *pmu,
			     const struct schedule_limits *l);

#endif
