/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mounts - lines of /proc/PID/mountinfo and /proc/self/mounts.
 *
 * Both parsers change the text that they are given and point into it. Octal escapes (a blank in a
 * path is \040) are undone.
 */
#ifndef CYCLADE_COLLECT_MOUNTS_H
#define CYCLADE_COLLECT_MOUNTS_H

#include <stdbool.h>

struct mount {
	const char *device, *root, *point, *type;
	char *options; /* of the file system; still escaped */
};

/* A line of mountinfo; false: it is none. */
bool mount_read(struct mount *m, char *line);

/* Where a text of `mounts` has the hierarchy that perf_event follows: of version 1 that of this
 * controller, else the unified one; with `unified` that of version 2 alone. NULL: not mounted. */
const char *mounts_cgroup(char *text, bool unified);

#endif
