/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alive - whether an event counts anything on this machine.
 *
 * A hypervisor or emulator may offer an event, and the kernel open it, but its counter stays 0.
 * alive_test() counts the event on the calling thread while that runs code that stalls any
 * pipeline: dependent loads from memory that is not cached, calls whose targets look random,
 * entries to the kernel. It is meant for events of a tree's first level (cycles, instructions,
 * stalls, slots). For a rare event (machine clears, remote memory) a 0 here proves nothing.
 *
 * Cost: about a millisecond and 4 MiB of memory that is freed again.
 */
#ifndef CYCLADE_COLLECT_ALIVE_H
#define CYCLADE_COLLECT_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/perf_abi.h"

enum alive {
	ALIVE_UNKNOWN, /* it could not be opened, or had no counter meanwhile */
	ALIVE_YES,
	ALIVE_NO, /* it was on a counter all the while, which stayed 0 */
};

/* Uses the event of attr and the modes that it excludes. Counts user space alone if the kernel may
 * not be counted. */
enum alive alive_test(const struct perf_event_attr *attr);

/*
 * Events that this CPU lacks according to the PMU's driver: bit n, code n. Arm's CPUs list the
 * events they implement in PMCEID. arm_pmu shows those in sysfs, but opens and "counts" any other
 * code, too. Only codes that every driver since Linux 4.17 knows by name are judged: 0x00 to 0x37
 * but 0x1e (CHAIN). 0 for the PMUs of other makers. `root` as of machine_read; `a` is scratch.
 */
uint64_t alive_missing(struct arena *a, const char *root, const char *pmu);

#endif
