/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_place - positions of boxes and arrows by Graphviz, for callers that draw them.
 *
 * Boxes have a size and nothing else: no text from outside reaches Graphviz.
 */
#ifndef CYCLADE_SHOW_GRAPH_PLACE_H
#define CYCLADE_SHOW_GRAPH_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct graph_box {
	double width, height;
	double x, y; /* set: the middle; y goes down */
};

struct graph_arrow {
	uint32_t from, to; /* boxes */
	const char *path;  /* set: as of SVG, in `arena`; NULL: Graphviz drew none */
};

struct graph_places {
	struct graph_box *box;
	size_t n_boxes;
	struct graph_arrow *arrow;
	size_t n_arrows;
	double width, height; /* set */
	struct arena *arena;
};

/* Lengths are points of Graphviz, which are pixels of a page. */
int graph_place(struct graph_places *g, struct err *err) MUST_USE;

#endif
