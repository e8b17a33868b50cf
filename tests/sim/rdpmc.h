/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdpmc - counters read from user space: the pages that the kernel shares with who maps a counter,
 * and the instruction itself, which faults where the machine does not allow it (0F 33, SIGSEGV).
 *
 * SIM_RDPMC=START switches it on; counters begin at START (modulo 2^48), so that they come round
 * early, or have an offset below 0. A page changes when the kernel would change it: its counter
 * goes on or off, or is reset. Indices: of a general counter its descriptor, of slots and
 * PERF_METRICS the real ones. Everything under preload.c's lock.
 */
#ifndef CYCLADE_SIM_RDPMC_H
#define CYCLADE_SIM_RDPMC_H

#include <stdbool.h>
#include <stddef.h>

void sim_rdpmc_begin(void); /* at the start of the program */
/* Is it a counter of ours, mapped for its page alone? */
bool sim_rdpmc_wants(int fd, size_t len);
void *sim_rdpmc_map(void *at, size_t len, int prot, int flags, int fd);
void sim_rdpmc_close(int fd);
/* Brings the pages of a counter's context to the present; `reset`: it was reset just now. */
struct sim_counter;
void sim_rdpmc_changed(struct sim_counter *k, bool reset);

#endif
