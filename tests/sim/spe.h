/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spe - Arm's SPE (driver=spe): a sample of the clock behind it becomes a record in the AUX ring of
 * its counter, packet by packet as the Arm ARM has them. What is recorded follows from the number
 * of the sample alone, so that tests know it.
 */
#ifndef CYCLADE_SIM_SPE_H
#define CYCLADE_SIM_SPE_H

#include <stddef.h>
#include <stdint.h>

#include "context.h"

#define SIM_SPE_MAX 64u

/* Whether a record of the kernel's ring is such a sample. */
struct sim_counter *sim_spe_sample(const void *record, size_t size);
/* Its packets; returns their length, 0: the filters leave it out. */
size_t sim_spe_packets(const struct sim_counter *k, const void *record, uint8_t out[SIM_SPE_MAX]);
/* PERF_AUX_FLAG_*: intervals below 2048 collide. */
uint64_t sim_spe_flags(const struct sim_counter *k);
/* arm_spe_pmu_event_init() */
int sim_spe_errno(const struct sim_counter *k);

#endif
