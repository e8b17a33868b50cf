/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * big - memory for large tables that are met in no order.
 *
 * What calloc gives costs twice where it is read before it is written: each page is first mapped to
 * the kernel's page of zeros, then replaced, with a call to all processors. This memory is cleared
 * by hand, and lies in large pages where they are to be had, which makes 512 page faults one.
 */
#ifndef CYCLADE_BASE_BIG_H
#define CYCLADE_BASE_BIG_H

#include <stddef.h>

#include "base/err.h"

/* All zero, aligned to 64 bytes at least; to be given to free(). NULL when out of memory. */
void *big_alloc(size_t n, size_t size) MUST_USE;

#endif
