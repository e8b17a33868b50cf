/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_sites_int - allocations by call chain, for memory_objects.c.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_SITES_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_SITES_INT_H

#include "analyse/memory_objects.h"

/* Fills o->site from the log of allocations, if there is one; free() gives it back. */
int memory_sites_fold(struct memory_objects *o, const struct spaces *sp, struct err *err) MUST_USE;

#endif
