/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomem - if memory runs out: the process ends, or goes on and remembers.
 *
 * Every failure of an allocation is reported here: by the containers of base, by err_nomem(), and
 * by code that calls malloc() itself. Two policies:
 *
 * - A command that only reads has nothing to save. It calls nomem_policy(end, true); the first
 *   failure calls `end`, which removes temporary files, prints a message and exits. Code of these
 *   commands allocates with base/xalloc.h, whose functions never return a failure.
 * - Code that counts, records, or runs inside of another program (libcyclade) returns -1, so that
 *   its caller can save its data. There nomem_note() only sets a flag, which is never cleared:
 *   a command asks nomem_noted() before it ends with success. base/xalloc.h ends even these.
 *
 * Other libraries return no reason, but malloc() sets errno:
 *
 *	nomem_begin();
 *	lines = of_another_library();
 *	nomem_end();		notes a malloc() that failed in between, in this thread
 *
 * The policy and the flag are global variables of the process. All functions may be called by any
 * thread; nomem_policy() is called before other threads start.
 */
#ifndef CYCLADE_BASE_NOMEM_H
#define CYCLADE_BASE_NOMEM_H

#include <setjmp.h>
#include <stdbool.h>

/* `end` does not return. With `always`, the first failure of any allocation calls it; without, only
 * those of base/xalloc.h do. Without a policy these abort(). */
void nomem_policy(void (*end)(void), bool always);
/* Ends the process by the policy. If several threads call it, one ends it and the others wait. */
void nomem_die(void) __attribute__((noreturn));

/* From now on lack of memory in base/xalloc.h leads this thread to `back`, in place of ending the
 * process, until nomem_outlive(NULL) or until it has done so. It is noted. What the thread was at
 * is given up: its memory and locks stay taken, so that nothing of it is used again or freed. */
void nomem_outlive(jmp_buf *back);

void nomem_note(void);
bool nomem_noted(void);

void nomem_begin(void);
void nomem_end(void);

#endif
