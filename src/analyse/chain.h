/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain - call chains as one prefix tree: memory grows with the number of distinct chains, not with
 * the number of samples.
 *
 * Node 0 is the root. A node stands for one frame below its parent's. In a tree made by samples the
 * outermost frame is nearest the root ("callees" reads downwards); chain_invert() makes the tree
 * whose first level is the innermost frame ("callers").
 */
#ifndef CYCLADE_ANALYSE_CHAIN_H
#define CYCLADE_ANALYSE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct chain_node {
	uint64_t frame;	 /* meaning is the user's: an address at first, a frame id when resolved */
	uint32_t parent; /* node number; the root's is itself */
	uint32_t child, sibling; /* 0: none */
};

struct chain_tree {
	struct chain_node *node;
	size_t n, cap;
	uint32_t *slot; /* hash of (parent, frame) */
	size_t nslot;
};

#define CHAIN_INIT { NULL, 0, 0, NULL, 0 }

/* The node for `frame` below `parent`, made if absent; UINT32_MAX when out of memory. */
uint32_t chain_add(struct chain_tree *t, uint32_t parent, uint64_t frame) MUST_USE;
void chain_free(struct chain_tree *t);

#endif
