/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter - groups of counters on tasks or CPUs, read while they run.
 *
 *	counters_open(&c, &setup, &err)	  opens every group on every target, disabled
 *	counters_enable(c, group, on)	  a group everywhere (inherited ones too); ALL_GROUPS
 *	counters_read(c, group, out)	  cumulative values since opening, all targets
 *	counters_close(c)
 *
 * A target is a (task, CPU) pair. Where the kernel refuses a group as too big it is split in halves
 * until it is accepted, and counters_split tells; an event that cannot be opened even alone is
 * `refused`, with the kernel's reason, and its values stay not counted. The kernel multiplexes
 * groups that do not fit together: time_enabled and time_running tell.
 *
 * Read one group at a time with PERF_FORMAT_GROUP: all its events have the same times. A CPU that
 * goes offline (ENODEV, 0 bytes) keeps its last values and is marked.
 */
#ifndef CYCLADE_COLLECT_COUNTER_H
#define CYCLADE_COLLECT_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/perf_abi.h"

struct counters;

#define ALL_GROUPS SIZE_MAX

struct counter_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the rest is set here */
	const uint32_t
		*cpus; /* where the PMU counts (uncore's cpumask, hybrid); NULL: all targets */
	size_t n_cpus;
	const char *name; /* for messages */
};

struct counter_group {
	const struct counter_event *event; /* leader first */
	size_t n;
	bool pinned;
};

struct counter_setup {
	const struct counter_group *group;
	size_t n_groups;
	const uint32_t *cpus; /* -a, -C; NULL: tasks wherever they run */
	size_t n_cpus;
	const pid_t *tasks; /* NULL: whole CPUs */
	size_t n_tasks;
	int cgroup_fd; /* -1 */
	bool inherit, enable_on_exec;
	bool user_only, kernel_only;
};

struct counter_value {
	uint64_t value, enabled, running; /* counts; ns */
	bool refused, gone;
};

int counters_open(struct counters **out, const struct counter_setup *setup,
		  struct err *err) MUST_USE;
/* Targets in the order of values: CPUs (with cpus), else tasks. */
size_t counters_targets(const struct counters *c);
/* Groups after splitting; events keep their (group, index) of the setup: this is for telling. */
size_t counters_split(const struct counters *c, size_t group);
/* Why an event could not be opened, or NULL. */
const char *counters_refused(const struct counters *c, size_t group, size_t event);
int counters_enable(struct counters *c, size_t group, bool on, struct err *err) MUST_USE;
/* out[event * targets + target]. `group` is one of the setup's. */
int counters_read(struct counters *c, size_t group, struct counter_value *out,
		  struct err *err) MUST_USE;
/* PERF_EVENT_IOC_RESET of a group: opens a new period of PERF_METRICS. */
int counters_reset(struct counters *c, size_t group, struct err *err) MUST_USE;
void counters_close(struct counters *c); /* NULL is fine */

#endif
