/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels - counts that follow what kernels do; kernels.c has the format of the file.
 */
#ifndef CYCLADE_SIM_KERNELS_H
#define CYCLADE_SIM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

extern bool sim_kernels; /* counts follow kernels, not time */
/* Where a sample of this event stands, whose instruction was `ip`; `random`: 0 to 1. */
struct sim_capture { /* a sample of the kernel "address"; registers by the kernel's numbers */
	uint64_t ip, addr, reg[32];
};
/* False: it is no such sample. random: of 0 to 1. */
bool sim_kernels_capture(struct sim_capture *out, const char *name, unsigned precise, uint64_t ip,
			 const double random[3]);
uint64_t sim_kernels_ip(const char *name, unsigned precise, uint64_t ip, double random);
/* -1, with a message, if the file is not understood. */
int sim_kernels_open(const char *path);

#endif
