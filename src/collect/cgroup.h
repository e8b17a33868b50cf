/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgroup - where control groups are mounted, which there are, and why the kernel refused an event
 * of one.
 *
 * Two hierarchies matter: that which counters and samples follow (of version 1 the one with
 * perf_event, else version 2's), and version 2's, which has the files that monitor reads. Both are
 * looked for in the list of mounts; a container or a machine with version 1 beside it has version 2
 * elsewhere than at /sys/fs/cgroup.
 */
#ifndef CYCLADE_COLLECT_CGROUP_H
#define CYCLADE_COLLECT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* What to type where no hierarchy of version 2 is mounted: a directory of its own, since a mount
 * over /sys/fs/cgroup would hide a tree of version 1. */
#define CGROUP_MOUNT "mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2"

/* The mount of the hierarchy that counters follow; left empty if there is none. */
void cgroup_counted_root(struct buf *out);
/* The mount of version 2 below `root`, without it and without its first slash; left empty if there
 * is none. */
void cgroup_unified_root(struct buf *out, const char *root);

/* Each cgroup below `dir`, `dir` itself first, with the number that samples have for it and its
 * path below `dir` ("/", "/a/b"). Ends early if `each` fails. Directories that cannot be read are
 * skipped. */
int cgroup_each(const char *dir,
		int (*each)(void *ctx, uint64_t id, const char *path, struct err *err), void *ctx,
		struct err *err) MUST_USE;

/* Fills err if `number` (an errno of perf_event_open) is because of the cgroup and not of the event
 * `name`; false, and nothing filled, if not. Opens an event on `cpu` to find out. */
bool cgroup_refused(const char *name, int number, int cgroup_fd, int cpu, struct err *err);

#endif
