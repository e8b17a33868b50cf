/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph - boxes and arrows: call graphs and control flow, as dot text and as SVG.
 *
 *	g = graph_new(title, GRAPH_DOWN, &err)
 *	i = graph_node(g, &(struct graph_node){ ... })		0, 1, 2, ...
 *	graph_edge(g, &(struct graph_edge){ ... })
 *	graph_note(g, "left out: ...", ...)
 *	graph_cut(g, 100)					the nodes with most cost only
 *	graph_dot(&buf, g)
 *	graph_svg(&buf, g, &err)
 *	graph_free(g)
 *
 * Texts are copied; they may come from outside and hold anything. A node's colour goes from light
 * to dark with its cost, and one of its lines must contain that cost, too: colour alone carries no
 * information. Edges are the wider, the heavier; kinds differ by the line's form.
 *
 * Dot is made here. SVG comes of the same text through Graphviz, which is loaded when it is needed:
 * starting the program costs nothing. Text is measured by Graphviz' own table of one font, not by
 * the fonts of this machine, so that the same graph gives the same bytes everywhere. Its layout
 * takes time that grows faster than the graph: graph_svg() cuts to GRAPH_NODES_MAX nodes and
 * GRAPH_EDGES_MAX edges, with a note in the graph. One layout at a time in a process.
 */
#ifndef CYCLADE_SHOW_GRAPH_H
#define CYCLADE_SHOW_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define GRAPH_NODES_MAX 250
#define GRAPH_EDGES_MAX 500
#define GRAPH_LINES_MAX 8
#define GRAPH_NONE	UINT32_MAX

enum graph_shape { GRAPH_DOWN, GRAPH_RIGHT }; /* direction of arrows */

enum graph_node_kind {
	GRAPH_BOX,     /* the subject of the graph */
	GRAPH_FOCUS,   /* the one that was asked for */
	GRAPH_OUTSIDE, /* not part of it: other functions, those left out */
};

struct graph_node {
	enum graph_node_kind kind;
	const char *line[GRAPH_LINES_MAX]; /* the first is its name; NULL ends them */
	double cost;			   /* 0 to 1; NAN: not known */
	double rank;			   /* which ones graph_cut keeps; the larger first */
	const char *tooltip, *url;	   /* NULL: none */
};

enum graph_edge_kind {
	GRAPH_TAKEN, /* a solid line: a call, a branch taken */
	GRAPH_FALLS, /* dashed: falls through */
	GRAPH_BACK,  /* solid, heavy arrow: back to a loop's head */
	GRAPH_TAIL,  /* dotted: a tail call */
	GRAPH_EDGE_KINDS
};

struct graph_edge {
	uint32_t from, to;
	enum graph_edge_kind kind;
	double weight;		  /* of any unit, the same for all; NAN: not known */
	const char *label, *more; /* two lines; NULL: none */
	const char *tooltip;
};

struct graph;

struct graph *graph_new(const char *title, enum graph_shape shape, struct err *err) MUST_USE;
void graph_free(struct graph *g); /* NULL is fine */
/* Adds a node; returns its number, GRAPH_NONE when out of memory. */
uint32_t graph_node(struct graph *g, const struct graph_node *n) MUST_USE;
int graph_edge(struct graph *g, const struct graph_edge *e) MUST_USE;
/* A line below the graph. */
int graph_note(struct graph *g, const char *fmt, ...) PRINTF_(2, 3) MUST_USE;
size_t graph_nodes(const struct graph *g); /* that are shown */
size_t graph_edges(const struct graph *g);

/* Keeps `most` nodes of highest rank, and of the edges between them `most_edges` heaviest (0: all).
 * A note has the number of those removed. Numbers of nodes stay the same. */
int graph_cut(struct graph *g, size_t most, size_t most_edges) MUST_USE;

void graph_dot(struct buf *out, const struct graph *g);
int graph_svg(struct buf *out, struct graph *g, struct err *err) MUST_USE;

/* The same of a graph that is needed no more: it is freed. If `g` is NULL (it could not be made),
 * returns -1. */
int graph_write_dot(struct buf *out, struct graph *g, struct err *err) MUST_USE;
int graph_write_svg(struct buf *out, struct graph *g, struct err *err) MUST_USE;

/* graph_svg.c: SVG of any dot text; messages of Graphviz become the error. */
int graph_svg_of_dot(struct buf *out, const char *dot, struct err *err) MUST_USE;
/* The same in Graphviz' plain format: positions. */
int graph_plain_of_dot(struct buf *out, const char *dot, struct err *err) MUST_USE;

#endif
