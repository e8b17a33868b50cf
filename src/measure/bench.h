/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench - what the benches of calibrate and validate share: clocks, and the CPU that they run on.
 */
#ifndef CYCLADE_MEASURE_BENCH_H
#define CYCLADE_MEASURE_BENCH_H

#include <time.h>

#include "base/err.h"

#define BENCH_STACK (256u << 10) /* of a second thread: address space may be scarce */

/* Seconds of this clock. */
double bench_now(clockid_t id);
/* Moves the calling thread to this CPU. -1: it may not run there. */
int bench_pin(unsigned cpu, struct err *err) MUST_USE;

#endif
