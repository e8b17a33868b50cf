/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emulator - whether time that passes here is the CPU's or that of a program that emulates one.
 *
 *	emulator_why(&why, arena, machine.hypervisor, &err)	machine.h, MACHINE_HYPERVISOR
 *
 * Three cases: qemu-user runs this process; QEMU's TCG runs the guest; the guest is QEMU's, or an
 * unknown hypervisor's, and nothing shows that it has KVM. The last is a doubt, and *why names it
 * as one.
 */
#ifndef CYCLADE_COLLECT_EMULATOR_H
#define CYCLADE_COLLECT_EMULATOR_H

#include "base/arena.h"
#include "base/err.h"

/* *why: NULL if neither is found. `hypervisor` may be NULL. */
int emulator_why(const char **why, struct arena *a, const char *hypervisor,
		 struct err *err) MUST_USE;

#endif
