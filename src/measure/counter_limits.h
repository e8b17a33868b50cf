/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter_limits - the counters that a plan may use on this machine: what the CPU has, less what
 * others hold now. What is free is tried out with real events (model/schedule.h, collect/vacant.h),
 * on the CPUs that are to be counted, or for a program on the calling thread.
 */
#ifndef CYCLADE_MEASURE_COUNTER_LIMITS_H
#define CYCLADE_MEASURE_COUNTER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "collect/machine.h"
#include "measure/model_choice.h"
#include "model/schedule.h"

struct limits_ask {
	const char *root, *pmu;	       /* sysfs below root; the PMU of the cores */
	const struct machine *machine; /* with MACHINE_PMUS */
	const uint32_t *cpus;	       /* whole CPUs; NULL: a program, wherever it runs */
	size_t n_cpus;
	bool smt;
	bool tries; /* false: another machine, or nothing is to be opened */
};

/* The model of a kind of cores, and its limits. Where somebody else has the counter of slots, it is
 * the model with the formulas that do without (SYSTEM_NO_SLOTS, which is set). */
int limits_model(struct model **out, struct schedule_limits *l, const struct model_choice *c,
		 const struct limits_ask *x, double *system, struct err *err) MUST_USE;
/* Cannot fail: what cannot be found out is taken to be free. */
void limits_of(struct schedule_limits *l, const struct model *m, const struct limits_ask *x);
/* "2 of 4 general counters are held by somebody else (events are open in perf (812))"; NULL: none
 * but the watchdog's is, or nobody has tried. */
const char *limits_note(struct arena *a, const char *root, const char *pmu,
			const struct schedule_limits *l);

#endif
