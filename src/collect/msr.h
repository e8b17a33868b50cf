/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msr - the counters of AMD's CPUs by their registers, /dev/cpu/N/msr, as another back-end of
 * counter.h: for kernels without the PMUs amd_df and amd_l3, or without perf_event.
 *
 *	msr_open(&m, arena, root, machine, cpus, n, &err)	devices; which counters are free
 *	msr_pmus(m, &list, &err)	PMUs that event_parse() then knows, by the kernel's names
 *	setup.backend = &counter_msr; setup.backend_ctx = m;	and counter.h as usual
 *	msr_close(m)			after counters_close()
 *
 * Of a core: PERF_CTL and PERF_CTR (a floating-point event takes two, with the merge event in the
 * odd one), APERF, MPERF, IRPERF, TSC. L3 and data fabric are counted once for each L3 cache and
 * each socket (of Zen 1: die), memory controllers (Zen 4 on) if the device cpuid can be read.
 * Intel's and Arm's counters are perf_event's alone: memory controllers and links of Intel's
 * servers are in PCI configuration space or in memory.
 *
 * A counter whose enable bit is set belongs to other software and stays untouched, as does one
 * whose control register changes later: counter_value.why has the reason then. A register that
 * fails takes its own event on its own CPU away, nothing else.
 *
 * Every register gets its old value back: by counters_close(), and if the process dies by a
 * watchdog, a child that is forked before the first write and has a session of its own. Its plan is
 * also in root/run/cyclade/msr-PID, for msr_restore() if the child was killed, too.
 *
 * A read or write of a register on another CPU interrupts it: some 2 us.
 */
#ifndef CYCLADE_COLLECT_MSR_H
#define CYCLADE_COLLECT_MSR_H

#include "collect/counter.h"
#include "collect/event.h"
#include "collect/machine.h"

struct msr;

extern const struct counter_backend counter_msr;

/* `machine` with MACHINE_MODEL and MACHINE_TOPOLOGY; it and the CPUs' numbers must live as long.
 * Fails if there is no counter to count with. */
int msr_open(struct msr **out, struct arena *a, const char *root, const struct machine *machine,
	     const uint32_t *cpus, size_t n, struct err *err) MUST_USE;
/* Before the list's first event. They take the place of the kernel's of the same name. */
int msr_pmus(struct msr *m, struct event_list *list, struct err *err) MUST_USE;
/* Counters of a PMU that are free everywhere; SIZE_MAX: it needs none. */
size_t msr_room(const struct msr *m, const char *pmu);
/* Counters that others have: found at the beginning, or taken since. */
size_t msr_held(const struct msr *m);
/* Why there is no second net (root/run/cyclade), or NULL. */
const char *msr_no_plan(const struct msr *m);
void msr_close(struct msr *m); /* NULL is fine */

/* Gives back the registers of dead monitors: registers that still have a value of theirs.
 * *restored: how many. */
int msr_restore(const char *root, size_t *restored, struct err *err) MUST_USE;

#endif
