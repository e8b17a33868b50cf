/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * access - what a sampled load or store accesses, where the scenario plants cache lines that
 * threads share (`sharing=1`). Eight lines from SIM_SHARED on, one after another:
 *
 *	0, 1	true sharing of byte 8; loads hit what a core of this node, of another, modified
 *	2, 3	false sharing: 8 bytes for each of the first 8 threads; the same
 *	4	read only
 *	5	a lock: atomic accesses of byte 0
 *	6	true sharing where no load was seen to hit a modified line
 *	7	from SIM_PRIVATE on: a line for each thread
 *
 * Data sources are those that Linux has for PEBS (arch/x86/events/intel/ds.c).
 */
#ifndef CYCLADE_SIM_ACCESS_H
#define CYCLADE_SIM_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_SHARED  UINT64_C(0x7f1000000000)
#define SIM_PRIVATE UINT64_C(0x7f2000000000)

struct sim_access {
	uint64_t addr, data_src, latency;
};

/* Of an event by its name in the machine's table; `random`: any number. */
void sim_access_draw(struct sim_access *a, const char *event, uint32_t tid, uint64_t random);

#endif
