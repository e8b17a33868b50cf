/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_scan_int - memory's visitor: each sample is decoded once, and counted by group
 * (memory_count_int.h) and by object (memory_objects_int.h), by as many workers as there are cores.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_SCAN_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_SCAN_INT_H

#include "analyse/memory/memory_count_int.h"
#include "analyse/memory_objects.h"

struct memory_scan;
struct pass;

/* Adds a visitor. `how` and `events`, by event, stay until the walk is over; `objects` NULL: not
 * wanted. What there is is the caller's to free, after an error, too. */
int memory_scan_begin(struct memory_scan **out, struct pass *p, struct memory_objects **objects,
		      const struct pd *rec, struct spaces *sp, const struct memop_how *how,
		      const bool *events, const struct memory_opts *opts, struct err *err) MUST_USE;
/* After the walk: what was counted. */
int memory_scan_end(struct memory_tallies *out, struct memory_scan *w, struct err *err) MUST_USE;
void memory_scan_free(struct memory_scan *w); /* NULL is fine */

#endif
