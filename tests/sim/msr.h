/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msr - model specific registers of the simulated machine: /dev/cpu/N/msr and /dev/cpu/N/cpuid,
 * each register a cell of 64 bits of its own.
 *
 * SIM_MSR names a file with lines of words (numbers as in C):
 *
 *	cell CPUS REG VALUE	a register of each of these CPUs
 *	share CPUS REG LAST	registers REG to LAST, which these CPUs have in common
 *	count PMU CTL ON [CPUS]	a control register (of these CPUs), whose counter is the next
 *				one: while it has the bits ON, the counter counts at the
 *				rate that the machine's table has for the other bits as an
 *				event of PMU; amd_umc's saturates
 *	mask PMU BITS		which are left out for that
 *	clock REG RATE		counts by time, per ns
 *	pair CTL		event 3 here counts a fifth, unless CTL + 2 has event 0xFFF
 *	global REG		only those core counters count whose bit this has, too
 *	cpuid LEAF A B C D
 *	no open|write ERRNO	for every register (EPERM: a kernel that is locked down)
 *	at MS write CPU REG VALUE	somebody else, so many ms after the program's first
 *				write to the register (if it is a counter, to its control register)
 *	at MS add CPU REG VALUE		the same, to what is there
 *	at MS fail CPU REG ERRNO	from then on
 *	read N write CPU REG VALUE	somebody else, after the register was read N times;
 *				add and fail likewise
 *
 * Cells are in SIM_MSR.cells, which all processes share. SIM_MSR.log has a line for each write:
 * NS PID CPU REG OLD NEW (hexadecimal; NS is of the real clock, also on paper). SIM_MSR_ALONE=1: no
 * locks, for one process.
 */
#ifndef CYCLADE_SIM_MSR_H
#define CYCLADE_SIM_MSR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* -1 with a message on stderr. */
int sim_msr_begin(const char *path);
/* A path that is simulated: a descriptor, or -1 and errno; *ours is false otherwise. */
int sim_msr_open(const char *path, int flags, bool *ours);
bool sim_msr_is(int fd);
ssize_t sim_msr_read(int fd, void *to, size_t n, off_t at);
ssize_t sim_msr_write(int fd, const void *from, size_t n, off_t at);
void sim_msr_close(int fd);
/* A descriptor of ours: a program that closes all it does not know leaves it. */
bool sim_msr_keeps(int fd);
int sim_msr_close_range(unsigned first, unsigned last, int flags);

#endif
