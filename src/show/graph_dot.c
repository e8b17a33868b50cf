/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_dot - the graph as dot text.
 *
 * Nodes are n0, n1, ...: names stand in quoted labels only, made safe for terminals first, and then
 * for dot: quotes and backslashes (Graphviz reads \n, \N, \G and more in labels) get a backslash.
 * Text like a character entity would be read as one; such an ampersand is written \x26.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "show/graph_int.h"

/* From light to dark; the text on it turns from dark to light so that the contrast stays above
 * 4.5. */
static const struct {
	const char *fill, *text;
} ramp[] = {
	{ "#fff7e8", "#111111" }, { "#ffecc9", "#111111" }, { "#ffdca3", "#111111" },
	{ "#ffc678", "#111111" }, { "#fba94f", "#111111" }, { "#ee8435", "#111111" },
	{ "#c04a1f", "#ffffff" }, { "#952f17", "#ffffff" }, { "#651a10", "#ffffff" },
};
#define RAMP (sizeof(ramp) / sizeof(*ramp))

static const struct {
	const char *style, *head, *class;
} edge_look[GRAPH_EDGE_KINDS] = {
	[GRAPH_TAKEN] = { "solid", "normal", "taken" },
	[GRAPH_FALLS] = { "dashed", "normal", "falls" },
	[GRAPH_BACK] = { "solid", "normalnormal", "back" },
	[GRAPH_TAIL] = { "dotted", "onormal", "tail" },
};

static bool is_entity(const char *s)
{
	size_t n = 1;

	if (s[n] == '#')
		n++;
	while (isalnum((unsigned char)s[n]))
		n++;
	return n > 1 && s[n] == ';';
}

/* Two code points that XML does not allow, unlike other formats. */
static bool is_no_character(const char *s)
{
	return s[0] == '\xef' && s[1] == '\xbf' && (s[2] == '\xbe' || s[2] == '\xbf');
}

/* Puts the text between quotes. */
static void put_dot_text(struct buf *b, const char *text)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, text, false);
	for (const char *s = buf_str(&safe); *s; s++) {
		if (*s == '"' || *s == '\\') {
			buf_putc(b, '\\');
			buf_putc(b, *s);
		} else if (*s == '&' && is_entity(s)) {
			buf_puts(b, "\\\\x26");
		} else if (is_no_character(s)) {
			buf_printf(b, "\\\\u{ff%c%c}", 'f', s[2] == '\xbe' ? 'e' : 'f');
			s += 2;
		} else {
			buf_putc(b, *s);
		}
	}
	b->failed |= safe.failed;
	buf_free(&safe);
}

static void put_attr(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, ", %s=\"", name);
	put_dot_text(b, text);
	buf_putc(b, '"');
}

static size_t dot_step_of(double cost)
{
	double at;

	if (!(cost > 0))
		return 0;
	at = sqrt(cost < 1 ? cost : 1) * (double)RAMP; /* so that small ones differ, too */
	return at >= RAMP ? RAMP - 1 : (size_t)at;
}

static void put_dot_node(struct buf *b, const struct graph_node *n, size_t i)
{
	bool outside = n->kind == GRAPH_OUTSIDE;
	size_t step = dot_step_of(n->cost);

	buf_printf(b, "\tn%zu [label=\"", i);
	for (size_t k = 0; k < GRAPH_LINES_MAX && n->line[k]; k++) {
		put_dot_text(b, n->line[k]);
		buf_puts(b, k || n->line[1] ? "\\l" : "");
	}
	buf_puts(b, "\"");
	if (outside)
		buf_puts(b, ", class=\"outside\", style=\"rounded,dashed\", color=\"#6b7280\", "
			    "fontcolor=\"#4b5563\"");
	else
		buf_printf(b, ", fillcolor=\"%s\", fontcolor=\"%s\"", ramp[step].fill,
			   ramp[step].text);
	if (n->kind == GRAPH_FOCUS)
		buf_puts(b, ", penwidth=3");
	if (n->tooltip)
		put_attr(b, "tooltip", n->tooltip);
	if (n->url)
		put_attr(b, "URL", n->url);
	buf_puts(b, "];\n");
}

static void put_dot_edge(struct buf *b, const struct graph_edge *e, double most)
{
	double part = most > 0 && e->weight > 0 ? e->weight / most : 0;

	buf_printf(b, "\tn%u -> n%u [class=\"%s\", style=%s, arrowhead=%s, penwidth=%.2f",
		   (unsigned)e->from, (unsigned)e->to, edge_look[e->kind].class,
		   edge_look[e->kind].style, edge_look[e->kind].head, 1 + 3 * sqrt(part));
	if (e->label || e->more) {
		/* blanks, so that it does not touch the line */
		buf_puts(b, ", label=\" ");
		put_dot_text(b, e->label ? e->label : "");
		buf_puts(b, e->label && e->more ? " \\l " : " ");
		put_dot_text(b, e->more ? e->more : "");
		buf_puts(b, e->more ? " \\l\"" : "\"");
	}
	if (e->tooltip) {
		put_attr(b, "tooltip", e->tooltip);
		put_attr(b, "labeltooltip", e->tooltip);
	}
	buf_puts(b, "];\n");
}

/* If most nodes have many arrows, curves around everything take minutes. The limits bound the time
 * of a layout, not its result in any graph of usual size. */
static const char *dot_limits(const struct graph *g)
{
	size_t edges = graph_edges(g);

	return edges > 250 && edges > graph_nodes(g) * 9 / 5
		       ? "splines=line, nslimit=0.2, nslimit1=1, mclimit=0.2"
		       : "splines=true, nslimit=1, nslimit1=1, mclimit=0.5";
}

static void put_dot_head(struct buf *b, const struct graph *g)
{
	buf_printf(b,
		   "digraph cyclade {\n"
		   "\tgraph [rankdir=%s, bgcolor=transparent, charset=\"UTF-8\", labelloc=b, "
		   "labeljust=l, fontname=Courier, fontsize=11, ranksep=0.45, nodesep=0.3, %s",
		   g->shape == GRAPH_RIGHT ? "LR" : "TB", dot_limits(g));
	buf_puts(b, ", label=\"");
	put_dot_text(b, g->title);
	buf_puts(b, "\\l");
	for (size_t i = 0; i < g->note.n; i++) {
		put_dot_text(b, g->note.v[i]);
		buf_puts(b, "\\l");
	}
	buf_puts(b, "\"];\n"
		    "\tnode [shape=box, style=\"rounded,filled\", fontname=Courier, fontsize=11, "
		    "color=\"#4b5563\", fillcolor=\"#ffffff\", margin=\"0.12,0.06\", "
		    "height=0.2];\n"
		    "\tedge [fontname=Courier, fontsize=9, color=\"#6b7280\", "
		    "fontcolor=\"#4b5563\", arrowsize=0.7];\n");
}

void graph_dot(struct buf *out, const struct graph *g)
{
	double most = 0;

	put_dot_head(out, g);
	vec_each (&g->edge, const struct graph_link *, it)
		if (!it->gone && it->e.weight > most && isfinite(it->e.weight))
			most = it->e.weight;
	for (size_t i = 0; i < g->node.n; i++)
		if (!g->node.v[i].gone)
			put_dot_node(out, &g->node.v[i].n, i);
	vec_each (&g->edge, const struct graph_link *, it)
		if (!it->gone)
			put_dot_edge(out, &it->e, most);
	buf_puts(out, "}\n");
}
