/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout is asked for in Graphviz' plain format: a line for each box and arrow, in inches, y
 * upwards.
 */
#include "show/graph_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "show/graph.h"

#define INCH   72.0
#define POINTS 4096 /* of an arrow, at most */

static void put_dot(struct buf *b, const struct graph_places *g)
{
	/* curves around many boxes take minutes */
	bool many = g->n_arrows > 250 && g->n_arrows > g->n_boxes * 9 / 5;

	buf_printf(b, "digraph g {\n\tgraph [rankdir=TB, ranksep=0.35, nodesep=0.25, %s];\n",
		   many ? "splines=line, nslimit=0.2, nslimit1=1, mclimit=0.2"
			: "splines=true, nslimit=1, nslimit1=1, mclimit=0.5");
	buf_puts(b, "\tnode [shape=box, fixedsize=true, label=\"\"];\n");
	for (size_t i = 0; i < g->n_boxes; i++)
		buf_printf(b, "\tn%zu [width=%.3f, height=%.3f];\n", i, g->box[i].width / INCH,
			   g->box[i].height / INCH);
	for (size_t i = 0; i < g->n_arrows; i++)
		buf_printf(b, "\tn%u -> n%u;\n", (unsigned)g->arrow[i].from,
			   (unsigned)g->arrow[i].to);
	buf_puts(b, "}\n");
}

/* Returns a number; NAN if there is none. */
static double plan_read_number(const char **s)
{
	char *end;
	double v = strtod(*s, &end);

	if (end == *s || !isfinite(v))
		return NAN;
	*s = end;
	return v * INCH;
}

/* "n12"; SIZE_MAX: no box. */
static size_t box_of(const struct graph_places *g, const char **s)
{
	unsigned long n;
	char *end;

	*s += strspn(*s, " ");
	if (**s != 'n')
		return SIZE_MAX;
	n = strtoul(*s + 1, &end, 10);
	*s = end;
	return n < g->n_boxes ? n : SIZE_MAX;
}

static void read_box(struct graph_places *g, const char *s)
{
	size_t i = box_of(g, &s);
	double x = plan_read_number(&s), y = plan_read_number(&s);

	if (i == SIZE_MAX || isnan(x) || isnan(y))
		return;
	g->box[i].x = round(x);
	g->box[i].y = round(g->height - y);
}

/* Returns the first arrow between these boxes that has no path yet. */
static struct graph_arrow *arrow_of(struct graph_places *g, size_t from, size_t to)
{
	for (size_t i = 0; i < g->n_arrows; i++)
		if (g->arrow[i].from == from && g->arrow[i].to == to && !g->arrow[i].path)
			return &g->arrow[i];
	return NULL;
}

static void read_arrow(struct graph_places *g, const char *s, struct buf *path)
{
	size_t from = box_of(g, &s), to = box_of(g, &s);
	double n = plan_read_number(&s) / INCH, begin_x = 0, begin_y = 0;
	struct graph_arrow *a = arrow_of(g, from, to);

	if (!a || !(n >= 1 && n <= POINTS))
		return;
	buf_reset(path);
	for (unsigned i = 0; i < (unsigned)n; i++) {
		double x = plan_read_number(&s), y = plan_read_number(&s);

		if (isnan(x) || isnan(y))
			return;
		x = round(x);
		y = round(g->height - y);
		buf_printf(path, "%s%.0f,%.0f",
			   i == 0   ? "M"
			   : i == 1 ? "c"
				    : " ",
			   x - begin_x + 0.0, y - begin_y + 0.0); /* no "-0" */
		if (i % 3 == 0) { /* points of a curve are from its begin */
			begin_x = x;
			begin_y = y;
		}
	}
	a->path = arena_strdup(g->arena, buf_str(path));
	path->failed |= !a->path;
}

static void read_plan_line(struct graph_places *g, const char *s, struct buf *path)
{
	if (!strncmp(s, "graph ", 6)) {
		s += 6;
		(void)plan_read_number(&s); /* the scale */
		g->width = plan_read_number(&s);
		g->height = plan_read_number(&s);
	} else if (!strncmp(s, "node ", 5)) {
		s += 5;
		read_box(g, s);
	} else if (!strncmp(s, "edge ", 5)) {
		s += 5;
		read_arrow(g, s, path);
	}
}

int graph_place(struct graph_places *g, struct err *err)
{
	struct buf dot = BUF_INIT, plain = BUF_INIT, path = BUF_INIT;
	int ret = -1;

	g->width = g->height = 0;
	put_dot(&dot, g);
	if (dot.failed) {
		(void)err_nomem(err);
	} else if (!graph_plain_of_dot(&plain, buf_str(&dot), err)) {
		for (const char *s = buf_str(&plain); *s; s += strcspn(s, "\n"), s += *s == '\n')
			read_plan_line(g, s, &path);
		ret = 0;
		if (path.failed)
			ret = err_nomem(err);
		else if (!(g->width > 0 && g->height > 0))
			ret = err_set(err, ERR_FORMAT, "Graphviz wrote no layout");
	}
	buf_free(&dot);
	buf_free(&plain);
	buf_free(&path);
	return ret;
}
