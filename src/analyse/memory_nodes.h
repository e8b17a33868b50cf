/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_nodes - NUMA: the node of the CPU against the node of the memory, of all samples with both
 * nodes, and of each object of memory_objects.h.
 *
 * A CPU's node is the recording's NUMA_TOPOLOGY. The memory's node is that of the physical address
 * (MEM_TOPOLOGY); without one, it is that of the data's source if the access reached memory: the
 * CPU's own node, or another one, which is known by number only if there are two.
 *
 * The cost of remote memory: for each load from another node, its latency minus the mean of local
 * loads - of the same object if it has some, else of all.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_NODES_H
#define CYCLADE_ANALYSE_MEMORY_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/estimate.h"
#include "perfdata/nodes.h"

#define NODE_OTHER (-2) /* not that of the CPU; its number is not known */
#define NODE_MANY  (-3) /* no single one */

enum memory_advice {
	MEMORY_LEAVE,	    /* nothing to gain, or too few samples */
	MEMORY_BIND,	    /* one node uses it, and it lies in another one */
	MEMORY_FIRST_TOUCH, /* each page is used by one node, and lies in another one */
	MEMORY_REPLICATE,   /* all only read it */
	MEMORY_INTERLEAVE,  /* all use it, and it lies in one node */
};

struct memory_reach {
	uint64_t samples, reached; /* reached: of loads and stores whose data came from memory */
	uint64_t timed;		   /* of these, with a latency */
	double cycles, squares;	   /* their sum, and that of their squares */
};

/* A way from a node's CPUs to a node's memory. */
struct memory_way {
	uint32_t object; /* of memory_objects; UINT32_MAX: all */
	int32_t cpu, memory;
	struct memory_reach n;
};

struct memory_object_nodes {
	uint32_t object;
	struct memory_reach n;
	uint64_t remote;	/* of those that reached memory: in another node */
	int32_t users, home;	/* the node of nine in ten of its users, of its memory */
	int32_t first;		/* the node of the first sample's CPU */
	uint64_t pages, apart;	/* sampled twice or more; of these: by CPUs of one node alone */
	struct estimate cycles; /* that remote memory cost, of the cycles of all latencies */
	enum memory_advice advice;
};

struct memory_nodes {
	const char *why;		    /* why there is no advice; NULL: there is one */
	uint64_t reached;		    /* samples of all ways with data from memory */
	uint64_t contradict;		    /* the address and the source have different nodes */
	struct memory_way *way;		    /* by node of the CPU, then of the memory */
	struct memory_way *part;	    /* of objects: by object, then so */
	struct memory_object_nodes *object; /* most cycles first */
	size_t n_ways, n_parts, n_objects;
};

struct estimate memory_way_share(const struct memory_nodes *n, const struct memory_way *w);
struct estimate memory_way_mean(const struct memory_way *w);
struct estimate memory_nodes_remote(const struct memory_object_nodes *o);
/* "bind", ...; NULL: none. Its meaning and how to do it. */
const char *memory_advice_word(enum memory_advice a);
const char *memory_advice_means(enum memory_advice a);

#endif
