/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_int - the pieces of counting.h: opening and closing (counting.c), the loop
 * (counting_loop.c), unmeasured runs around the program (counting_around.c).
 */
#ifndef CYCLADE_MEASURE_COUNTING_INT_H
#define CYCLADE_MEASURE_COUNTING_INT_H

#include "measure/counting.h"

/* --pre; a failure names the option. */
int counting_before(struct counting *k, struct err *err) MUST_USE;

#endif
