/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu_list - lists of CPUs and of other small numbers, as the kernel writes them: "0-3,8".
 */
#ifndef CYCLADE_BASE_CPU_LIST_H
#define CYCLADE_BASE_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CPU_LIST_MAX 65536u /* eight times the largest NR_CPUS that Linux builds with */

/* The list as ascending numbers below CPU_LIST_MAX, doubles dropped. -1: not such a list (or no
 * memory), nothing given. */
int cpu_list_parse(struct arena *a, const char *s, size_t len, const uint32_t **out,
		   size_t *n) MUST_USE;
/* Whether such a list has the CPU. */
bool cpu_list_has(const uint32_t *list, size_t n, uint32_t cpu);

#endif
