/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pfm - libpfm's event names, if cyclade is built with its headers and the library is installed.
 * The model selects the PMU (pfm_pmus.def), never libpfm's detection of the CPU that we run on.
 */
#ifndef CYCLADE_MEASURE_PFM_H
#define CYCLADE_MEASURE_PFM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pfm_code {
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel;
};

/* `name`: UOPS_ISSUED:ANY, or ivb::UOPS_ISSUED:ANY with the model's own PMU; with libpfm's options
 * (c=1:i). False if it is no event of the model, or libpfm is not built in. */
bool pfm_find(struct pfm_code *out, const char *model, const char *name, size_t len);

#endif
