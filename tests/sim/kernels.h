/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels - counts that follow what kernels do; kernels.c has the format of the file.
 */
#ifndef CYCLADE_SIM_KERNELS_H
#define CYCLADE_SIM_KERNELS_H

#include <stdbool.h>

extern bool sim_kernels; /* counts follow kernels, not time */
/* -1, with a message, if the file is not understood. */
int sim_kernels_open(const char *path);

#endif
