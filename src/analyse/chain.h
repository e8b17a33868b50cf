/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain - call chains as one prefix tree: memory grows with the number of distinct chains, not with
 * the number of samples.
 *
 * Node 0 is the root. A node stands for one frame below its parent's. In a tree made by samples the
 * outermost frame is nearest the root; a node's number is always greater than its parent's, so that
 * a walk down the numbers meets children before parents and needs no recursion.
 */
#ifndef CYCLADE_ANALYSE_CHAIN_H
#define CYCLADE_ANALYSE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/itab.h"
#include "base/err.h"
#include "base/vec.h"

struct chain_node {
	uint64_t frame;	 /* meaning is the user's: an address at first, a frame id when resolved */
	uint32_t parent; /* node number; the root's is itself */
	uint32_t child, sibling; /* 0: none */
};

struct chain_tree {
	struct chain_node *node;
	size_t n, cap;
	struct itab at; /* by (parent, frame) */
};

#define CHAIN_INIT                    \
	{                             \
		NULL, 0, 0, ITAB_INIT \
	}

/* Returns the node for `frame` below `parent`, made if absent; UINT32_MAX when out of memory. The
 * root is there from the first call on. */
uint32_t chain_add(struct chain_tree *t, uint32_t parent, uint64_t frame) MUST_USE;
/* For a tree whose nodes come in the order of a walk in depth: room for `n` nodes in all, the root
 * (made here) included; then each below `parent`, behind its sibling `after` (0: the first child).
 * Frames are believed to be different; such a tree has no index, and takes no chain_add. */
int chain_reserve(struct chain_tree *t, size_t n) MUST_USE;
static inline uint32_t chain_append(struct chain_tree *t, uint32_t parent, uint32_t after,
				    uint64_t frame)
{
	uint32_t at = (uint32_t)t->n++;

	t->node[at] = (struct chain_node){ .frame = frame, .parent = parent };
	*(after ? &t->node[after].sibling : &t->node[parent].child) = at;
	return at;
}
/* Puts the frames from a node to the root into `out`, innermost first, in place of what it has. */
typedef VEC(uint64_t) chain_frames_vec;
void chain_list(const struct chain_tree *t, uint32_t node, chain_frames_vec *out);
void chain_free(struct chain_tree *t);

#endif
