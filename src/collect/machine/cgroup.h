/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup - why the kernel refused an event of a cgroup.
 */
#ifndef CYCLADE_COLLECT_CGROUP_H
#define CYCLADE_COLLECT_CGROUP_H

#include <stdbool.h>

#include "base/err.h"

/* Fills err if `number` (an errno of perf_event_open) is because of the cgroup and not of the event
 * `name`; false, and nothing filled, if not. Opens an event on `cpu` to find out. */
bool cgroup_refused(const char *name, int number, int cgroup_fd, int cpu, struct err *err);

#endif
