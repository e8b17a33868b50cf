/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine_int - the pieces of machine_read().
 *
 * Each takes the half-read machine, fills its own fields and returns -1 only when memory runs out:
 * what cannot be read stays NULL or 0.
 */
#ifndef CYCLADE_COLLECT_MACHINE_INT_H
#define CYCLADE_COLLECT_MACHINE_INT_H

#include "collect/machine.h"

/* From the text of /proc/cpuinfo (its first processor is enough): cpu_desc, vendor, family, model,
 * stepping, cpuid. `guest` tells whether the flags say that a hypervisor runs us. */
int machine_cpuinfo(struct machine *m, struct arena *a, const char *text, size_t len,
		    bool *guest) MUST_USE;
int machine_topology(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_caches(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_nodes(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_pmus(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_hypervisor(struct machine *m, struct arena *a, const char *root, bool guest) MUST_USE;

#endif
