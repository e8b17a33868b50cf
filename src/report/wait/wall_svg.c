/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of all threads' time as a flame graph: callers below. A frame is as wide as its time;
 * the part of it that was on a CPU is warm, the part off it is cold. The text is in its title, too,
 * which viewers show for the frame that is pointed at.
 */
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/drawing.h"
#include "report/parallel_view.h"

#define HEAD 44.0

struct wall_drawing {
	struct drawing d;
	const struct parallel_view *v;
	double all, height;
};

static double wall_svg_width_of(const struct wall_drawing *g, double ns)
{
	return g->all > 0 ? ns / g->all * DRAWING_WIDTH : 0;
}

static void put_wall_svg_node(struct wall_drawing *g, const struct wall_node *n, double x)
{
	double y = g->height - DRAWING_MARGIN - DRAWING_ROW * (n->depth + 1), time = n->on + n->off;
	double on = wall_svg_width_of(g, n->on), off = wall_svg_width_of(g, n->off);
	struct buf *out = g->d.out;
	char a[NUM_MAX], b[NUM_MAX];

	buf_reset(&g->d.name);
	wall_put_name(&g->d.name, g->v, n);
	buf_puts(out, "<g><title>");
	html_text(out, buf_str(&g->d.name));
	buf_printf(out, ": %.2f %%, on CPU %s, off CPU %s</title>", 100 * time / g->all,
		   num_seconds(a, n->on / 1e9), num_seconds(b, n->off / 1e9));
	drawing_box(&g->d, "on", x, y, on, DRAWING_ROW - 1);
	drawing_box(&g->d, "off", x + on, y, off, DRAWING_ROW - 1);
	drawing_label(&g->d, x, y, on + off);
	buf_puts(out, "</g>\n");
}

static uint32_t deepest(const struct wall_tree *t, double all)
{
	uint32_t most = 0;

	for (size_t i = 0; i < t->n; i++)
		if ((t->node[i].on + t->node[i].off) * DRAWING_WIDTH >= DRAWING_LEAST * all &&
		    t->node[i].depth > most)
			most = t->node[i].depth;
	return most;
}

/* Nodes are in depth-first order, so that each begins at the end of its sibling before it. */
int wall_svg(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct parallel_view *v = d->ctx;
	const struct wall_tree *t = v->tree;
	struct wall_drawing g = { .v = v, .all = t->n ? t->node[0].on + t->node[0].off : 0 };
	double *next; /* by node: the begin of its next child */
	struct buf title = BUF_INIT;
	char a[NUM_MAX], b[NUM_MAX];

	(void)s;
	if (!(g.all > 0)) {
		buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n");
		return buf_error(out, err);
	}
	next = xcalloc(t->n + 1, sizeof(*next));
	g.height = HEAD + DRAWING_MARGIN + DRAWING_ROW * (deepest(t, g.all) + 1);
	drawing_begin(&g.d, out, DRAWING_WIDTH + 2 * DRAWING_MARGIN, g.height,
		      ".on{fill:#f0a060}.off{fill:#8fb8de}", ".on{fill:#b0601c}.off{fill:#2f5f8f}");
	buf_printf(&title, "Time of all threads: %s on CPU (warm), %s off CPU (cold)",
		   num_seconds(a, t->node[0].on / 1e9), num_seconds(b, t->node[0].off / 1e9));
	drawing_text(&g.d, DRAWING_MARGIN, 20, "start", buf_str(&title));
	buf_putc(out, '\n');
	for (size_t i = 0; i < t->n; i++) {
		const struct wall_node *n = &t->node[i];
		double width = wall_svg_width_of(&g, n->on + n->off);
		double x = i ? next[n->parent] : DRAWING_MARGIN;

		next[i] = x;
		if (i)
			next[n->parent] += width;
		if (width >= DRAWING_LEAST)
			put_wall_svg_node(&g, n, x);
	}
	drawing_end(&g.d);
	out->failed |= title.failed;
	buf_free(&title);
	free(next);
	return buf_error(out, err);
}
