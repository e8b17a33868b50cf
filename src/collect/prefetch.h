/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prefetch - hardware prefetchers off for a while, by their register (/dev/cpu/N/msr, root).
 *
 *	prefetch_off(&p, arena, machine, cpus, n, &err)	on these CPUs
 *	prefetch_restore(p)				as they were; NULL is fine
 *
 * Intel has them in MSR 1A4 (two of L2, two of L1), AMD from Zen 4 on in C000_0108 (three of L1,
 * two of L2). Registers are shared by the threads of a core at most. If the process dies, they are
 * restored by the watchdog of msr.h.
 */
#ifndef CYCLADE_COLLECT_PREFETCH_H
#define CYCLADE_COLLECT_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "collect/machine.h"

struct prefetch;

/* `machine` with MACHINE_MODEL. After a failure all are as they were. */
int prefetch_off(struct prefetch **out, struct arena *a, const struct machine *machine,
		 const uint32_t *cpus, size_t n, struct err *err) MUST_USE;
void prefetch_restore(struct prefetch *p);

#endif
