/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task - the same work over many pieces, on all cores.
 */
#ifndef CYCLADE_BASE_TASK_H
#define CYCLADE_BASE_TASK_H

#include <pthread.h>
#include <stddef.h>

#include "base/err.h"

/* pthread_create() of a thread that begins on another CPU than the caller's, if it may run on
 * another: the scheduler often leaves both on one for 10 ms and more, while the others are idle.
 * Where it runs from then on is the scheduler's again. */
int task_start(pthread_t *t, void *(*fn)(void *arg), void *arg) MUST_USE;

/* Threads worth starting here: the CPUs this process may run on, at most 64, at least 1. */
unsigned task_threads(void);

/* Calls fn(ctx, worker, i) once for each i in [0, n), handing out i in ascending order to `threads`
 * workers numbered from 0 (0 threads: task_threads()). A non-zero return stops the hand-out; the
 * first such call's err is the one returned. */
int task_for(size_t n, unsigned threads,
	     int (*fn)(void *ctx, unsigned worker, size_t i, struct err *err), void *ctx,
	     struct err *err) MUST_USE;

#endif
