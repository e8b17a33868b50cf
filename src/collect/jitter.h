/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jitter - periods that differ a little from each other, so that no loop keeps step with its
 * samples.
 *
 * A loop of n events that is sampled every k * n of them is always met at the same place, and of a
 * period that is not a multiple only at few; a fixed period cannot be right for all loops. Periods
 * here are drawn evenly from around a nominal one, free of small factors.
 */
#ifndef CYCLADE_COLLECT_JITTER_H
#define CYCLADE_COLLECT_JITTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/perf_abi.h"

#define JITTER_LEAST 128u /* periods below are left as they are: there is no room around them */

/* A period of nominal * (1 - part) to nominal * (1 + part), without a factor below 50: each of
 * them as likely as any other. `state` is any number at first. Hardware that has multiples of 16
 * only (AMD's IBS) is given 16 times a period of a 16th. */
uint64_t jitter_period(uint64_t nominal, double part, uint64_t *state);

/* A counter whose period may differ from that of its like: it has a period, and one that means
 * something (the kernel takes a sample at each page fault for any period, and reports 1). */
bool jitter_can(const struct perf_event_attr *attr);
/* The period may change while it counts. The kernel's own clocks do change theirs, but go on
 * telling the first one in their samples. */
bool jitter_can_change(const struct perf_event_attr *attr);

#endif
