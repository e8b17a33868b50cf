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

/* A page of an object, and the nodes that used it. */
struct nodes_page {
	uint64_t page;
	uint32_t object, pid;
	uint32_t nodes; /* a bit each; those of high numbers count as several */
	bool twice;	/* it was sampled more than once */
};

struct memory_nodes_work {
	const struct nodes *nodes;
	VEC(struct memory_way) way; /* of objects */
	struct itab at;
	VEC(struct memory_object_nodes) object; /* by number */
	VEC(uint64_t) first;			/* of each: its first sample with a CPU */
	VEC(struct nodes_page) page;
	struct itab page_at;
	uint64_t told, contradict;
	bool cpus; /* some sample has its CPU */
};

/* A sample of an object: its operation, CPU and process. */
int memory_nodes_add(struct memory_nodes_work *w, uint32_t object, const struct memop *op,
		     uint32_t cpu, uint32_t pid, uint64_t at) MUST_USE;
/* As memory_walks_join(). */
int memory_nodes_join(struct memory_nodes_work *w, const struct memory_nodes_work *x,
		      const uint32_t *to) MUST_USE;
void memory_nodes_rename(struct memory_nodes_work *w, const uint32_t *to);
/* Fills o->nodes. */
int memory_nodes_fold(struct memory_nodes_work *w, struct memory_objects *o) MUST_USE;
void memory_nodes_free(struct memory_nodes_work *w);

#endif
