/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callers_lost - stacks that begin in no mapping: there a chain by frame pointers leads in code
 * that has none.
 */
#ifndef CYCLADE_REPORT_WAIT_CALLERS_LOST_H
#define CYCLADE_REPORT_WAIT_CALLERS_LOST_H

#include "analyse/wait.h"
#include "show/document.h"

/* Returns true if the outermost function of a stack is in no mapping. */
bool place_is_lost(const struct wait_place *p);
/* A fact if `lost` is much of `all` time with stacks. */
void callers_lost_put(struct document *d, double lost, double all);

#endif
