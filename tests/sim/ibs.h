/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs - AMD's Instruction-Based Sampling: what its driver refuses, and the registers of a sample,
 * made up but consistent: of a store there is no latency, of a hit no source.
 */
#ifndef CYCLADE_SIM_IBS_H
#define CYCLADE_SIM_IBS_H

#include "context.h"

/* perf_ibs_init(), perf_ibs_check_period(): 0 or an errno. */
int sim_ibs_errno(const struct sim *sim, const struct sim_counter *k, pid_t pid);
int sim_ibs_period_errno(const struct sim_counter *k, uint64_t period);

struct sim_ibs {
	uint64_t word[10]; /* PERF_SAMPLE_RAW: its size and capabilities, then the registers */
	unsigned n_words;
	uint64_t addr, phys, weight, data_src; /* as the driver makes them of the registers */
};

struct sim_ibs_place {
	uint64_t loop, op; /* ops of the loop, and which one of all; loop 0: of any code */
};

/* `random`: any number, of which the sample follows. */
void sim_ibs_sample(struct sim_ibs *out, const struct sim_counter *k, uint64_t period, uint64_t ip,
		    struct sim_ibs_place place, uint64_t random);

#endif
