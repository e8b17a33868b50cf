/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watchdog - a child that acts if this process ends before it called off the child, whatever ends
 * it, SIGKILL included.
 *
 *	watchdog_begin(&w, &job, &err)
 *	watchdog_lost(&w)	true, once: it was killed; another one may begin
 *	watchdog_end(&w)	it ends without acting; returns when it has ended
 *
 * The child waits for the end of a pipe that only this process holds open. It is in a session of
 * its own, holds back all signals, and keeps open the descriptors of the job alone. It has the
 * memory of the moment at which it began: later changes have to be in shared mappings.
 */
#ifndef CYCLADE_BASE_WATCHDOG_H
#define CYCLADE_BASE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct watchdog { /* all zero: none */
	pid_t pid;
	int pipe; /* our end of it */
};

struct watchdog_job {
	const char *name; /* of the process, 15 characters */
	void (*act)(void *ctx);
	void *ctx;
	const int *keep; /* descriptors */
	size_t n_keep;
};

int watchdog_begin(struct watchdog *w, const struct watchdog_job *job, struct err *err) MUST_USE;
bool watchdog_lost(struct watchdog *w);
void watchdog_end(struct watchdog *w); /* none: nothing */

#endif
