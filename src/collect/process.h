/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * process - running processes by name, of those that this PID namespace shows.
 *
 * A process answers to its own name (comm), to the name of its program's file and to that of its
 * first word; if none does, to that of its second word, which is a script's: "python3 server.py".
 * This process is left out, and those that have ended.
 */
#ifndef CYCLADE_COLLECT_PROCESS_H
#define CYCLADE_COLLECT_PROCESS_H

#include <sys/types.h>

#include "base/err.h"

#define PROCESS_NAME 16 /* bytes of comm */

/* The one process of that name. Several: ERR_USAGE, the message lists them, the hint has -p for
 * one and for all. */
int process_find(pid_t *out, const char *name, struct err *err) MUST_USE;
/* Its own name; "" if it has ended. */
void process_name(char out[PROCESS_NAME], pid_t pid);

#endif
