/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lender - a process beside that opens the files of running programs, for one in a sandbox.
 *
 *	lender_start()			before sandbox_enter()
 *	lender_open("/proc/7/exe")	a descriptor as of open(path, O_PATH); -1 and errno
 *	lender_end()			optional: it ends with us, too
 *
 * Landlock keeps a process from looking into others' /proc/PID/exe and /proc/PID/root, where the
 * programs of containers lie, and those that were deleted. The lender opens these two links of any
 * process, without effect (O_PATH), and nothing else, whatever it is asked. It ends with us. It
 * belongs to the process, as a sandbox does: there is one at most.
 *
 * Threads: lender_open() at any time from any thread. A start costs 0.2 ms.
 */
#ifndef CYCLADE_BASE_LENDER_H
#define CYCLADE_BASE_LENDER_H

#include <stdbool.h>

/* false: none could be started. */
bool lender_start(void);
/* The caller closes the descriptor. Without a lender, or for another path: -1, and errno is left as
 * it is. */
int lender_open(const char *path);
void lender_end(void); /* without a lender: nothing */

#endif
