/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces - an address space at every moment: sets of disjoint address ranges, each version sharing
 * all it can with the one it came from.
 *
 * A version is a root number; painting a range over a version gives a new root and leaves the old
 * one as it was, at O(log n) new nodes (a treap with path copying). So a fork is a copied number,
 * an exec is root 0, and a question about any time is a search in one tree. Nodes made since
 * pieces_seal() belong to a version that no reader has seen yet and are changed in place.
 */
#ifndef CYCLADE_SYMBOL_PIECES_H
#define CYCLADE_SYMBOL_PIECES_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define PIECE_HOLE UINT32_MAX

struct piece_node {
	uint64_t start, end;
	uint32_t left, right; /* 0: none */
	uint32_t value;
	uint32_t priority;
	uint32_t made; /* the seal it was made under */
};

struct pieces {
	VEC(struct piece_node) node; /* node 0 is none */
	uint32_t seal, random;
};

#define PIECES_INIT                      \
	{                                \
		VEC_INIT, 1, 0x9e3779b9u \
	}

/* Puts `value` over [start, end) of version *root, PIECE_HOLE to clear it; *root becomes the new
 * version. */
void pieces_paint(struct pieces *p, uint32_t *root, uint64_t start, uint64_t end, uint32_t value);
/* From here on, everything made so far is shared and stays as it is. */
void pieces_seal(struct pieces *p);
/* The value at `at`, or PIECE_HOLE. Safe from many threads once painting has ended. */
uint32_t pieces_find(const struct pieces *p, uint32_t root, uint64_t at);
/* The same; [*start, *end) becomes narrower if the answer for every address in it is not known to
 * be this one: a piece, or the hole between two. `at` must lie within. */
uint32_t pieces_span(const struct pieces *p, uint32_t root, uint64_t at, uint64_t *start,
		     uint64_t *end);
/* The first piece, by address, that starts at or behind `at`, or NULL. */
const struct piece_node *pieces_next(const struct pieces *p, uint32_t root, uint64_t at);
void pieces_free(struct pieces *p);

#endif
