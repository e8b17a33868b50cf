/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_nodes_int - NUMA nodes by object, for memory_objects.c.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_NODES_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_NODES_INT_H

#include "analyse/itab.h"
#include "analyse/memory_objects.h"
#include "base/hash.h"
#include "base/vec.h"

struct memory_nodes_work {
	struct nodes nodes;
	VEC(struct memory_way) way; /* of objects */
	struct itab at;
	VEC(struct memory_object_nodes) object; /* by number */
	struct u64map page;			/* of an object: bits of the nodes that used it */
	uint64_t told, contradict;
	bool cpus; /* some sample has its CPU */
};

/* A sample of an object: its operation, CPU and process. */
int memory_nodes_add(struct memory_nodes_work *w, uint32_t object, const struct memop *op,
		     uint32_t cpu, uint32_t pid) MUST_USE;
void memory_nodes_rename(struct memory_nodes_work *w, const uint32_t *to);
/* Fills o->nodes. */
int memory_nodes_fold(struct memory_nodes_work *w, struct memory_objects *o) MUST_USE;
void memory_nodes_free(struct memory_nodes_work *w);

#endif
