/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine_int - the pieces of machine_read().
 *
 * Each takes the half-read machine, fills its own fields and returns -1 only when memory runs out:
 * a fact that cannot be read stays NULL or 0.
 */
#ifndef CYCLADE_COLLECT_MACHINE_INT_H
#define CYCLADE_COLLECT_MACHINE_INT_H

#include "collect/machine.h"

/* From the text of /proc/cpuinfo (its first processor is enough): cpu_desc, vendor, family, model,
 * stepping, cpuid. `guest`: the flags have a hypervisor. */
int machine_cpuinfo(struct machine *m, struct arena *a, const char *text, size_t len,
		    bool *guest) MUST_USE;
/* Which CPUs there are: the others need it. */
int machine_cpus(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_topology(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_siblings(struct machine *m, struct arena *a, const char *root) MUST_USE;
/* Arm's own word for the model, before that of /proc/cpuinfo. */
int machine_midr(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_caches(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_nodes(struct machine *m, struct arena *a, const char *root) MUST_USE;
int machine_pmus(struct machine *m, struct arena *a, const char *root) MUST_USE;
/* `guest`: by the CPU's flags. */
int machine_hypervisor(struct machine *m, struct arena *a, const char *root, bool guest) MUST_USE;

#endif
