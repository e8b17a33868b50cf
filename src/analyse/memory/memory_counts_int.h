/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_counts_int - counting samples of an object, a line or a place in memory_counts: facts of
 * each sample by itself. Sources and page walks are counted elsewhere (memory_walks_int.h).
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_COUNTS_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_COUNTS_INT_H

#include "analyse/memory_objects.h"

static inline void memory_counts_take(struct memory_counts *n, const struct memop *op)
{
	double cycles = op->cycles[MEMOP_LATENCY_DATA];

	n->samples++;
	n->loads += (op->set[MEMOP_KIND] & MEMOP_KIND_LOAD) != 0;
	n->stores += (op->set[MEMOP_KIND] & MEMOP_KIND_STORE) != 0;
	if (!(op->has >> MEMOP_LATENCY_DATA & 1))
		return;
	n->timed++;
	n->cycles += cycles;
	n->squares += cycles * cycles;
}

static inline void memory_counts_add(struct memory_counts *n, const struct memory_counts *x)
{
	n->samples += x->samples;
	n->loads += x->loads;
	n->stores += x->stores;
	n->timed += x->timed;
	n->cycles += x->cycles;
	n->squares += x->squares;
}

#endif
