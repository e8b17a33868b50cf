/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_scan_int - memory's pass: each sample is decoded once, and counted by group
 * (memory_count_int.h) and by object (memory_objects_int.h), by as many workers as there are cores.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_SCAN_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_SCAN_INT_H

#include "analyse/memory/memory_count_int.h"
#include "analyse/memory_objects.h"

/* `how` and `events` by event; `objects` NULL: not wanted. The caller frees the results, after an
 * error, too. */
int memory_scan(struct memory_tallies *out, struct memory_objects **objects, const struct pd *rec,
		struct spaces *sp, const struct memop_how *how, const bool *events,
		const struct memory_opts *opts, struct err *err) MUST_USE;

#endif
