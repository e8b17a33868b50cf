/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workload - a program that is ready to start, started on request, and waited for.
 *
 *	workload_prepare(&w, argv, &err)	forks; the child waits
 *	... open counters on w.pid with enable_on_exec ...
 *	workload_start(&w, &err)		the child executes, or err has the reason
 *	workload_reap(&w, block)		until it has ended
 *
 * `env`: "NAME=value" each, ended by NULL, for the program alone; NULL: none. They stay until it
 * has started.
 *
 * No shell is involved. The child gets the defaults of SIGPIPE and SIGXFSZ back and the signal mask
 * it was prepared with.
 */
#ifndef CYCLADE_COLLECT_WORKLOAD_H
#define CYCLADE_COLLECT_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct workload {
	pid_t pid;
	int go, told; /* pipes: ours to write, ours to read */
	bool ended;
	int status;	     /* as exit codes go: 0-255, or 128 + signal */
	int killed_by;	     /* the signal, 0: it ended by itself */
	struct rusage usage; /* of it and the children it waited for */
};

/* Streams of the program that are /dev/null: */
enum { WORKLOAD_NO_INPUT = 1, WORKLOAD_NO_OUTPUT = 2 /* nor messages */ };
/* `mask`: the signals the child shall have blocked. */
int workload_prepare(struct workload *w, char *const *argv, char *const *env, const sigset_t *mask,
		     unsigned flags, struct err *err) MUST_USE;
/* ERR_EXEC if it cannot be executed; sys_errno is ENOENT if it was not found. */
int workload_start(struct workload *w, const char *name, struct err *err) MUST_USE;
/* True once it has ended; waits for that if `block`. */
bool workload_reap(struct workload *w, bool block);
/* Gives up waiting: it goes on alone, `status` stands for its end. */
void workload_leave(struct workload *w, int status);
/* Ends a child that was never started. */
void workload_cancel(struct workload *w);

#endif
