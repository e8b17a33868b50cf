/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_per - rows of counts: --per thread, cpu, core, cluster, die, socket, node.
 */
#ifndef CYCLADE_MEASURE_COUNTING_PER_H
#define CYCLADE_MEASURE_COUNTING_PER_H

#include <stddef.h>
#include <stdint.h>

#include "measure/counting.h"

struct counting_place {
	const char *label;	/* NULL: all there is */
	const uint32_t *target; /* indices of counters_read's targets, ascending */
	size_t n;
	size_t n_cpus; /* 0: not of CPUs */
};

/* Parts of the machine (enum machine_part) that --per NAME needs. */
unsigned counting_per_parts(const char *name);
/* In the asker's arena, in the order of numbers. Without --per: one place with all targets. */
int counting_places(const struct counting *k, const struct counting_place **out, size_t *n,
		    struct err *err) MUST_USE;

#endif
