/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sort - arrays in the order of a number of 64 bits, by radix.
 *
 * Eight bits at a time, and only over those that differ: a few passes over memory where qsort would
 * compare each element some twenty times. Stable.
 */
#ifndef CYCLADE_BASE_SORT_H
#define CYCLADE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint32_t a, b; /* the user's */
};

/* Sorts v[0..n) by key; `scratch` has room for as many. */
void keyed_sort(struct keyed *v, struct keyed *scratch, size_t n);

#endif
