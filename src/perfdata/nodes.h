/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes - which NUMA node CPUs and physical addresses are of, by the recording's header
 * (NUMA_TOPOLOGY, MEM_TOPOLOGY).
 *
 *	nodes_read(&n, pd_info(rec), &err)
 *	nodes_of_cpu(&n, cpu), nodes_of_address(&n, physical)
 *	nodes_free(&n)
 *
 * Costs: two loads for a CPU; for an address a look at the bit of each node that has memory.
 */
#ifndef CYCLADE_PERFDATA_NODES_H
#define CYCLADE_PERFDATA_NODES_H

#include "perfdata/perfdata.h"

#define NODE_NONE (-1) /* the header does not have it */

struct nodes {
	const struct pd_info *info;
	int32_t *of_cpu; /* by number */
	uint32_t n_cpus;
	uint32_t n; /* that have CPUs or memory */
};

int nodes_read(struct nodes *out, const struct pd_info *info, struct err *err) MUST_USE;
void nodes_free(struct nodes *n); /* of zeros is fine */
int32_t nodes_of_cpu(const struct nodes *n, uint32_t cpu);
int32_t nodes_of_address(const struct nodes *n, uint64_t physical);

#endif
