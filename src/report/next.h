/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * next - the commands worth typing after a report, filled in with this recording's names. Private
 * to report.
 */
#ifndef CYCLADE_REPORT_NEXT_H
#define CYCLADE_REPORT_NEXT_H

#include "base/arena.h"
#include "report/view.h"

#define NEXT_MAX 3

struct next {
	const char *command, *why;
};

/* Texts live in `a`. Returns how many, hottest advice first; fewer where memory is short. */
size_t next_steps(const struct view *v, struct next out[NEXT_MAX], struct arena *a);

#endif
