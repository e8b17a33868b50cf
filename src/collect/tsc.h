/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tsc - how fast this machine's time-stamp counter runs, as the kernel has measured it (the numbers
 * by which it turns cycles into time stand in the first page of any counter's ring), else by the
 * CPU's or the hypervisor's own figure.
 */
#ifndef CYCLADE_COLLECT_TSC_H
#define CYCLADE_COLLECT_TSC_H

/* Hz; NAN if none of them has it, or on other architectures than x86. */
double tsc_hz(void);

struct perf_event_mmap_page;

/* Hz by the kernel's page of an event, which has (ticks * time_mult) >> time_shift nanoseconds
 * (perf_event_open(2)); NAN if it has no such numbers. */
double tsc_hz_of_page(const struct perf_event_mmap_page *page);
/* The names of Intel's CPUs have it: "... @ 2.67GHz". NAN if the name (NULL is fine) does not have
 * it.
 */
double tsc_hz_of_name(const char *cpu_desc);

#endif
