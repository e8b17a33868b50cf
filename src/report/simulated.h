/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulated - the tree of a program that a model followed.
 *
 *	simulated_tree_write(&text, simulate)	as tree_saved.h has it, for the recording
 */
#ifndef CYCLADE_REPORT_SIMULATED_H
#define CYCLADE_REPORT_SIMULATED_H

#include "base/buf.h"
#include "simulate/simulate.h"

void simulated_tree_write(struct buf *out, const struct simulate *s);

#endif
