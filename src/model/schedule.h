/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schedule - which events count together: as few groups as possible, each of which fits the
 * counters.
 *
 * The input is a list of sets (of a metric, say, whose events should count together) over events
 * that each know the counters they can be on. A group fits where there is a matching of its events
 * to general and fixed counters (Kuhn's algorithm over bit masks), with the registers that are few
 * (OFFCORE_RSP, FRONTEND, load latency) not asked for twice with different values, with slots
 * before the metrics of PERF_METRICS, and with what the NMI watchdog or somebody else holds taken
 * off.
 *
 * Pure: no files, no system calls, the same result for the same input.
 */
#ifndef CYCLADE_MODEL_SCHEDULE_H
#define CYCLADE_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

struct schedule_limits {
	unsigned counters, fixed; /* as the machine at hand has */
	bool smt;		  /* SMT is on: counters, else counters_alone, of each event */
	unsigned reserved;	  /* general counters that others hold (which ones is not known) */
	uint32_t fixed_taken;	  /* fixed counters that others hold (the watchdog: cycles) */
	unsigned offcore;	  /* registers: 2 */
};

struct schedule_set {	       /* events that should count together */
	const uint32_t *event; /* indices into the model's */
	size_t n;
	unsigned weight; /* sets of greater weight are placed first */
};

struct schedule_group {
	const uint32_t *event; /* in the order to open them in: a leader that must lead first */
	size_t n;
};

struct schedule {
	const struct schedule_group *group;
	size_t n_groups;
	const uint32_t *home;	    /* by event of the model: its group, MODEL_NONE if in none */
	const uint32_t *impossible; /* events that fit no counter even alone */
	size_t n_impossible;
	const uint32_t *split; /* sets that no single group can hold: their metric mixes groups */
	size_t n_split;
};

/* True where these events fit together; else *why (static text) names the rule broken. */
bool schedule_fits(const struct model *m, const struct schedule_limits *l, const uint32_t *event,
		   size_t n, const char **why);
/* Every event of every set is in exactly one group, or impossible. Software and uncore events do
 * not take core counters: they are groups of their own (uncore: one per PMU). */
int schedule_make(struct schedule *out, struct arena *a, const struct model *m,
		  const struct schedule_limits *l, const struct schedule_set *set, size_t n,
		  struct err *err) MUST_USE;

#endif
