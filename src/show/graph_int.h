/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_int - inside of the graphs: graph.c (contents), graph_dot.c and graph_svg.c (faces).
 */
#ifndef CYCLADE_SHOW_GRAPH_INT_H
#define CYCLADE_SHOW_GRAPH_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "show/graph.h"

struct graph_item { /* a node, and whether it is still shown */
	struct graph_node n;
	bool gone;
};

struct graph_link {
	struct graph_edge e;
	bool gone;
};

struct graph {
	const char *title;
	enum graph_shape shape;
	VEC(struct graph_item) node;
	VEC(struct graph_link) edge;
	VEC(const char *) note;
	struct arena arena;
};

#endif
