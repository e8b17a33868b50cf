/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * offspring - whether a program, or a process that it has started, still runs: an event that counts
 * nothing, which all of them inherit. The kernel hangs it up (POLLHUP) when the last of them ends.
 *
 *	offspring_open(&o, pid)		before the program starts others
 *	offspring_live(&o, ms)		waits at most so long for the last one to end
 *	offspring_close(&o)
 *
 * A process that changes to another user by exec loses the event, and counters, too.
 */
#ifndef CYCLADE_COLLECT_OFFSPRING_H
#define CYCLADE_COLLECT_OFFSPRING_H

#include <stdbool.h>
#include <sys/types.h>

struct offspring {
	int fd; /* -1: not known */
	void *ring;
};

#define OFFSPRING_INIT   \
	{                \
		-1, NULL \
	}

/* False: not known, errno has the reason; the other functions then do nothing. */
bool offspring_open(struct offspring *o, pid_t pid);
bool offspring_live(const struct offspring *o, int ms);
void offspring_close(struct offspring *o);

#endif
