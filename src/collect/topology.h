/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology - numbers of threads, cores, dies and packages for formulas, from a struct machine with
 * MACHINE_TOPOLOGY (slots: MACHINE_PMUS) that was read here or made from a recording's header.
 */
#ifndef CYCLADE_COLLECT_TOPOLOGY_H
#define CYCLADE_COLLECT_TOPOLOGY_H

#include "collect/machine.h"

struct topology { /* of the CPUs that are online; NAN: not known */
	double cores, dies, packages;
	double smt; /* 1: threads share cores, 0: none do */
	double threads_per_core;
	double slots; /* of Arm: operations a cycle */
};

void topology_of(struct topology *t, const struct machine *m, const char *root);

#endif
