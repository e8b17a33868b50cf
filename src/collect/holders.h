/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holders - how many counters a core's PMU has here, and who else holds some of them.
 *
 * No single place in Linux has it. The number of counters comes from the CPU itself (CPUID, x86
 * only; of a captured machine it is in cyclade/facts), because a hypervisor may give fewer than the
 * CPU has, and because threads that share a core may have half of them each. On a hybrid, whose
 * kinds of core differ, it is left out. An unknown fact is 0 or -1, never a guess.
 */
#ifndef CYCLADE_COLLECT_HOLDERS_H
#define CYCLADE_COLLECT_HOLDERS_H

#include "base/arena.h"

struct holders {
	unsigned general, fixed; /* counters for one thread; 0: not known */
	unsigned fabric;	 /* AMD since Zen 4: counters of the data fabric; 0: not known */
	int watchdog;		 /* 1: the NMI watchdog is on (it may count cycles); -1: unknown */
	int tsx_force_abort;	 /* 0: counter 3 is kept for the microcode, which needs it for
				  * transactions; 1: it can be used; -1: not such a CPU */
	int smt;		 /* 1: threads share cores; -1: unknown */
};

/* Processes that have events open, this one left out: "perf (812), java (4711) and 2 more"; NULL:
 * none that we may look into. A walk through /proc. */
const char *holders_names(struct arena *a);
/* `pmu`: "cpu", "cpu_core", "armv8_pmuv3_0", ... */
void holders_read(struct holders *h, const char *root, const char *pmu);

#endif
