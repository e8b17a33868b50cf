/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trigger - a condition on the machine: "load > 8", "cpu_stalled >= 20%", "forks > 1000".
 *
 * Names are those of monitor's metrics: load (load1), running, blocked; context_switches,
 * interrupts, forks, page_faults, major_faults: a second; cpu_stalled, memory_stalled, io_stalled:
 * per cent of the time in which some task waited (PSI). Each is looked at once a second. A trigger
 * fires when its condition becomes true, and again after it has been false.
 */
#ifndef CYCLADE_MEASURE_TRIGGER_H
#define CYCLADE_MEASURE_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct trigger;

/* `root`: before /proc. Fails if the kernel does not have the value. */
int trigger_open(struct trigger **out, const char *text, const char *root,
		 struct err *err) MUST_USE;
bool trigger_fires(struct trigger *t, uint64_t now);
void trigger_close(struct trigger *t); /* NULL is fine */

#endif
