/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * targets - the tasks and CPUs of the options: tasks, CPUs, a cgroup. A task or a CPU named twice
 * is watched once.
 */
#ifndef CYCLADE_MEASURE_TARGETS_H
#define CYCLADE_MEASURE_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "collect/machine.h"
#include "collect/process.h"
#include "measure/measure_opts.h"

struct targets {
	VEC(pid_t) tasks;	 /* -p, -u (all threads), -t; the program, once it is prepared */
	VEC(pid_t) processes;	 /* -p */
	char name[PROCESS_NAME]; /* of the first of them; "" */
	VEC(uint32_t) cpus;	 /* -C, else all that are online */
	bool whole_cpus;	 /* -a, -C or -G without tasks or a program */
	int cgroup_fd;		 /* the first of cgroups, or -1 */
	VEC(int) cgroups;	 /* file descriptors, in the order of -G */
	VEC(char *) cgroup_names;
};

/* `what`: "record", for messages. targets_close is due after a failure too. */
int targets_find(struct targets *w, const struct measure_opts *opts, const struct machine *m,
		 const char *what, struct err *err) MUST_USE;
/* One of the tasks is still there. */
bool targets_live(const struct targets *w);
/* " -p 12,13" of -p; nothing without. */
void targets_put_processes(struct buf *b, const struct targets *w);
void targets_close(struct targets *w);

#endif
