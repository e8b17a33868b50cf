/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * family - the threads of a process and of its children, as /proc shows them now.
 *
 * A process whose parent has ended is an orphan, and tasks come and go while we look. Kernels
 * without CONFIG_PROC_CHILDREN show threads only.
 */
#ifndef CYCLADE_COLLECT_FAMILY_H
#define CYCLADE_COLLECT_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

/* Fills at most `max` thread ids, those of `pid` first; returns how many. */
size_t family_tasks(pid_t pid, pid_t *out, size_t max);

#endif
