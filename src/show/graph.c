/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/graph_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

struct graph *graph_new(const char *title, enum graph_shape shape, struct err *err)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g || !(g->title = arena_strdup(&g->arena, title ? title : ""))) {
		graph_free(g);
		(void)err_nomem(err);
		return NULL;
	}
	g->shape = shape;
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	vec_free(&g->node);
	vec_free(&g->edge);
	vec_free(&g->note);
	arena_free(&g->arena);
	free(g);
}

/* A copy of a text that may be absent. */
static int keep_node(struct graph *g, const char **s)
{
	if (*s && !(*s = arena_strdup(&g->arena, *s)))
		return -1;
	return 0;
}

uint32_t graph_node(struct graph *g, const struct graph_node *n)
{
	struct graph_item item = { .n = *n };
	int rc = keep_node(g, &item.n.tooltip) | keep_node(g, &item.n.url);

	for (size_t i = 0; i < GRAPH_LINES_MAX && item.n.line[i]; i++)
		rc |= keep_node(g, &item.n.line[i]);
	if (rc || g->node.n >= GRAPH_NONE || vec_push(&g->node, item))
		return GRAPH_NONE;
	return (uint32_t)(g->node.n - 1);
}

int graph_edge(struct graph *g, const struct graph_edge *e)
{
	struct graph_link link = { .e = *e };

	if (e->from >= g->node.n || e->to >= g->node.n || keep_node(g, &link.e.label) ||
	    keep_node(g, &link.e.more) || keep_node(g, &link.e.tooltip))
		return -1;
	return vec_push(&g->edge, link);
}

int graph_note(struct graph *g, const char *fmt, ...)
{
	char text[512];
	const char *copy = text;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return keep_node(g, &copy) || vec_push(&g->note, copy) ? -1 : 0;
}

size_t graph_nodes(const struct graph *g)
{
	size_t n = 0;

	vec_each (&g->node, const struct graph_item *, it)
		n += !it->gone;
	return n;
}

size_t graph_edges(const struct graph *g)
{
	size_t n = 0;

	vec_each (&g->edge, const struct graph_link *, it)
		n += !it->gone;
	return n;
}

/* ---- less of it ----------------------------------------------------------------------------- */

struct ranked {
	double rank;
	uint32_t at;
};

/* Most first; of equals the earlier. NAN is least. */
static int by_rank(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	double ra = isnan(a->rank) ? -INFINITY : a->rank, rb = isnan(b->rank) ? -INFINITY : b->rank;

	if (ra != rb)
		return ra < rb ? 1 : -1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int cut_nodes(struct graph *g, size_t most, size_t had)
{
	struct ranked *r = malloc(had * sizeof(*r));
	char a[NUM_MAX], b[NUM_MAX];
	size_t n = 0;

	if (!r)
		return -1;
	for (size_t i = 0; i < g->node.n; i++)
		if (!g->node.v[i].gone)
			r[n++] = (struct ranked){ g->node.v[i].n.rank, (uint32_t)i };
	qsort(r, n, sizeof(*r), by_rank);
	for (size_t i = most; i < n; i++)
		g->node.v[r[i].at].gone = true;
	free(r);
	vec_each (&g->edge, struct graph_link *, it)
		it->gone |= g->node.v[it->e.from].gone || g->node.v[it->e.to].gone;
	return graph_note(g,
			  "shown are the %s hottest of %s nodes; the rest and what leads there "
			  "is left out",
			  num_exact(a, most), num_exact(b, had));
}

static int cut_edges(struct graph *g, size_t most, size_t had)
{
	struct ranked *r = malloc(had * sizeof(*r));
	char a[NUM_MAX], b[NUM_MAX];
	size_t n = 0;

	if (!r)
		return -1;
	for (size_t i = 0; i < g->edge.n; i++)
		if (!g->edge.v[i].gone)
			r[n++] = (struct ranked){ g->edge.v[i].e.weight, (uint32_t)i };
	qsort(r, n, sizeof(*r), by_rank);
	for (size_t i = most; i < n; i++)
		g->edge.v[r[i].at].gone = true;
	free(r);
	return graph_note(g, "shown are the %s heaviest of %s arrows", num_exact(a, most),
			  num_exact(b, had));
}

int graph_cut(struct graph *g, size_t most, size_t most_edges)
{
	size_t nodes = graph_nodes(g), edges;

	if (most && nodes > most && cut_nodes(g, most, nodes))
		return -1;
	edges = graph_edges(g);
	if (most_edges && edges > most_edges && cut_edges(g, most_edges, edges))
		return -1;
	return 0;
}

int graph_write_dot(struct buf *out, struct graph *g, struct err *err)
{
	if (!g)
		return -1;
	graph_dot(out, g);
	graph_free(g);
	return buf_error(out, err);
}

int graph_write_svg(struct buf *out, struct graph *g, struct err *err)
{
	int rc;

	if (!g)
		return -1;
	rc = graph_svg(out, g, err);
	graph_free(g);
	return rc;
}
