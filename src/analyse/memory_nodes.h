/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_nodes - NUMA: the node of the CPU against the node of the memory, of all samples that tell
 * both, and of each object of memory_objects.h.
 *
 * A CPU's node is the recording's NUMA_TOPOLOGY. The memory's node is that of the physical address
 * (MEM_TOPOLOGY); without one the data's source tells it of what reached memory: the CPU's own
 * node, or another one, which is known by number only where there are two.
 *
 * What remote memory costs: loads that reached memory in another node, each by what it took longer
 * than those that reached it in their own - of the same object where it has some, else of all.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_NODES_H
#define CYCLADE_ANALYSE_MEMORY_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/estimate.h"
#include "perfdata/nodes.h"

#define NODE_OTHER (-2) /* not that of the CPU; which one is not told */
#define NODE_MANY  (-3) /* no single one */

enum memory_advice {
	MEMORY_LEAVE,	    /* nothing to gain, or too few samples to say */
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
	int32_t users, home;	/* that has nine in ten of those who use it, of its memory */
	int32_t first;		/* whose CPU had the first sample of it */
	uint64_t pages, apart;	/* sampled twice or more; of these: by CPUs of one node alone */
	struct estimate cycles; /* that remote memory cost, of the cycles of all latencies */
	enum memory_advice advice;
};

struct memory_nodes {
	const char *why;		    /* there is nothing to say; NULL: there is */
	uint64_t reached;		    /* samples of all ways whose data came from memory */
	uint64_t contradict;		    /* the address says another node than the source */
	struct memory_way *way;		    /* by node of the CPU, then of the memory */
	struct memory_way *part;	    /* of objects: by object, then so */
	struct memory_object_nodes *object; /* most cycles first */
	size_t n_ways, n_parts, n_objects;
};

struct estimate memory_way_share(const struct memory_nodes *n, const struct memory_way *w);
struct estimate memory_way_mean(const struct memory_way *w);
struct estimate memory_nodes_remote(const struct memory_object_nodes *o);
/* "bind", ...; NULL: none. What it means and how it is done. */
const char *memory_advice_word(enum memory_advice a);
const char *memory_advice_means(enum memory_advice a);

#endif
