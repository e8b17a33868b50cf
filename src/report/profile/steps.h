/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps - the commands worth typing after a report of samples.
 */
#ifndef CYCLADE_REPORT_STEPS_H
#define CYCLADE_REPORT_STEPS_H

#include "report/view.h"
#include "show/next.h"

/* Texts live in `a`. Returns how many, hottest advice first; fewer if memory is short. */
size_t next_steps(const struct view *v, struct next out[NEXT_MAX], struct arena *a);

#endif
