/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starter - a process that starts a program for us once we may start none: a pager, a browser.
 *
 *	starter_start(&b, argv)		before rights are given up (base/sandbox.h)
 *	starter_run(&b, text, len)	the program, with the text as its standard input
 *	starter_end(&b)			optional: the process ends with us, too
 *
 * Its one task is decided when it is started: run this program, with these words. It
 * knows nothing of later input. A start costs 0.2 ms.
 */
#ifndef CYCLADE_CLI_STARTER_H
#define CYCLADE_CLI_STARTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct starter {
	pid_t pid; /* 0: none */
	int to, from;
};

/* false: it could not be started. argv is copied with the process. */
bool starter_start(struct starter *b, char *const argv[]);
/* Waits until the program has ended. Without text its standard input stays ours. Returns its exit
 * code, 255 if a signal ended it; -1 if it was not started. */
int starter_run(struct starter *b, const char *text, size_t len);
void starter_end(struct starter *b); /* one that was not started: nothing */

#endif
