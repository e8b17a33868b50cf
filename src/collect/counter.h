/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counter - groups of counters on tasks or CPUs, read while they run.
 *
 *	counters_open(&c, &setup, &err)	  opens every group on every target, disabled
 *	counters_enable(c, group, on)	  a group everywhere (inherited ones too); ALL_GROUPS
 *	counters_read(c, group, out)	  cumulative values since opening, all targets
 *	counters_close(c)
 *
 * A target is a CPU (with setup.cpus; over all of setup.tasks, if there are any; of several cgroups
 * each on each CPU), else a task. A group that the kernel refuses as too big is split in halves
 * until it is accepted (counters_split() is then true); events that need their leader stay with it.
 * An event that cannot be opened even alone is `refused`, with the kernel's reason, and its values
 * stay not counted. The kernel multiplexes groups that do not fit together: then time_running is
 * less than time_enabled.
 *
 * A back-end does the work (counter_backend.h): perf_event, unless the setup names another.
 *
 * perf_event goes through perf_event_open, ioctl and read of the C library, one read for a group on
 * a target: its events have the same times. A CPU that goes offline (ENODEV, 0 bytes, or a group
 * that fell apart) keeps its last values and is marked. A task that ended keeps its count.
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
struct counter_backend;

#define ALL_GROUPS SIZE_MAX

struct counter_event {
	struct perf_event_attr attr; /* type, config*, exclude_*; the rest is set here */
	/* Ascending: where the PMU counts (uncore's cpumask, hybrid); NULL: all targets. */
	const uint32_t *cpus;
	size_t n_cpus;
	const char *filter; /* of a tracepoint; NULL: none */
	const char *name;   /* for messages */
	const char *typed;  /* as event_parse() takes it; NULL: as the name */
	bool with_leader;   /* only counts in a group with its leader (topdown metrics and slots) */
};

struct counter_group {
	const struct counter_event *event; /* leader first */
	size_t n;
	bool pinned;
	bool idle; /* not begun by exec (enable_on_exec), only by counters_enable */
};

struct counter_setup {
	const struct counter_group *group;
	size_t n_groups;
	const uint32_t *cpus; /* -a, -C; NULL: tasks wherever they run */
	size_t n_cpus;
	const pid_t *tasks; /* NULL: whole CPUs */
	size_t n_tasks;
	int cgroup_fd;	    /* -1 */
	const int *cgroups; /* several: target cpu * n_cgroups + cgroup; cgroup_fd is the first */
	size_t n_cgroups;
	bool inherit, enable_on_exec;
	bool user_only, kernel_only;
	bool may_drop_kernel; /* count user space alone if the kernel may not be counted */
	const struct counter_backend *backend; /* NULL: perf_event */
	void *backend_ctx;
};

struct counter_value {
	uint64_t value, enabled, running; /* counts; ns */
	bool refused;			  /* could not be opened */
	bool gone;			  /* its CPU went offline: the values are its last */
	bool absent;			  /* this event does not count on this target */
	const char *why; /* it does not any more, since this happened (static text); NULL */
};

int counters_open(struct counters **out, const struct counter_setup *setup,
		  struct err *err) MUST_USE;
/* Targets in the order of values: CPUs (with cpus, and of each the cgroups), else tasks. */
size_t counters_targets(const struct counters *c);
/* Groups after splitting; events keep their (group, index) of the setup: this is for telling. */
size_t counters_split(const struct counters *c, size_t group);
/* Why an event could not be opened (static text), or NULL; *number is the errno, may be NULL. */
const char *counters_refused(const struct counters *c, size_t group, size_t event, int *number);
/* may_drop_kernel was made use of. */
bool counters_without_kernel(const struct counters *c);
/* Counters that are open: file descriptors. */
size_t counters_files(const struct counters *c);
int counters_enable(struct counters *c, size_t group, bool on, struct err *err) MUST_USE;
/* Takes a group apart that is open: from now on each of its events takes turns by itself, in tasks
 * that have inherited it, too. This costs the leader, which keeps its count and counts no more; who
 * needs it has opened it once more, in a group of its own. Not for groups with events that need
 * their leader. False: it was no whole group, or the back-end cannot. */
bool counters_apart(struct counters *c, size_t group);
/* out[event * targets + target]. `group` is one of the setup's. */
int counters_read(struct counters *c, size_t group, struct counter_value *out,
		  struct err *err) MUST_USE;
void counters_close(struct counters *c); /* NULL is fine */

#endif
