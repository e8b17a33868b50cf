/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of all threads' time as a flame graph: callers below. A frame is as wide as its time;
 * the part of it that was on a CPU is warm, the part off it is cold. The text is in its title, too,
 * which viewers show for the frame that is pointed at. No scripts, no fonts of its own.
 */
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/parallel_view.h"

#define WIDTH  1200.0
#define ROW    17.0
#define MARGIN 10.0
#define HEAD   44.0
#define LEAST  0.4 /* narrower frames are left out */
#define LETTER 6.6 /* the width of one */

struct drawing {
	struct buf *out;
	const struct parallel_view *v;
	double all, height;
	struct buf name;
};

static double wall_svg_width_of(const struct drawing *g, double ns)
{
	return g->all > 0 ? ns / g->all * WIDTH : 0;
}

static void put_box(struct drawing *g, const char *kind, double x, double y, double width)
{
	if (width > 0)
		buf_printf(g->out,
			   "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
			   "height=\"%.1f\"/>",
			   kind, x, y, width, ROW - 1);
}

/* Puts the part of the name that fits; a character of UTF-8 is not cut. */
static void put_wall_svg_label(struct drawing *g, double x, double y, double width)
{
	size_t fits = width > LETTER * 3 ? (size_t)((width - 6) / LETTER) : 0;

	if (!fits)
		return;
	if (g->name.len > fits) {
		while (fits && ((unsigned char)buf_str(&g->name)[fits] & 0xc0) == 0x80)
			fits--;
		g->name.len = fits;
		g->name.s[fits] = '\0';
	}
	buf_printf(g->out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + ROW - 5);
	html_text(g->out, buf_str(&g->name));
	buf_puts(g->out, "</text>");
}

static void put_wall_svg_node(struct drawing *g, const struct wall_node *n, double x)
{
	double y = g->height - MARGIN - ROW * (n->depth + 1), time = n->on + n->off;
	char a[NUM_MAX], b[NUM_MAX];

	buf_reset(&g->name);
	wall_put_name(&g->name, g->v, n);
	buf_puts(g->out, "<g><title>");
	html_text(g->out, buf_str(&g->name));
	buf_printf(g->out, ": %.2f %%, on CPU %s, off CPU %s</title>", 100 * time / g->all,
		   num_seconds(a, n->on / 1e9), num_seconds(b, n->off / 1e9));
	put_box(g, "on", x, y, wall_svg_width_of(g, n->on));
	put_box(g, "off", x + wall_svg_width_of(g, n->on), y, wall_svg_width_of(g, n->off));
	put_wall_svg_label(g, x, y, wall_svg_width_of(g, time));
	buf_puts(g->out, "</g>\n");
}

static uint32_t deepest(const struct wall_tree *t, double all)
{
	uint32_t most = 0;

	for (size_t i = 0; i < t->n; i++)
		if ((t->node[i].on + t->node[i].off) * WIDTH >= LEAST * all &&
		    t->node[i].depth > most)
			most = t->node[i].depth;
	return most;
}

/* Nodes are in depth-first order, so that each begins at the end of its sibling before it. */
int wall_svg(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct parallel_view *v = d->ctx;
	const struct wall_tree *t = v->tree;
	struct drawing g = { .out = out, .v = v, .name = BUF_INIT };
	double *next = xcalloc(t->n + 1, sizeof(*next)); /* by node: the begin of its next child */

	(void)s;
	g.all = t->n ? t->node[0].on + t->node[0].off : 0;
	g.height = HEAD + MARGIN + ROW * (deepest(t, g.all) + 1);
	if (g.all > 0) {
		char a[NUM_MAX], b[NUM_MAX];
		const struct wall_node *root = g.v->tree->node;

		buf_printf(
			g.out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
			"width=\"%g\" "
			"height=\"%g\" font-family=\"monospace\" font-size=\"11\">\n"
			"<style>svg{background:#fff}.on{fill:#f0a060}.off{fill:#8fb8de}text{fill:#"
			"111}"
			"g:hover "
			"rect{stroke:#111}@media(prefers-color-scheme:dark){svg{background:#181818}"
			".on{fill:#b0601c}.off{fill:#2f5f8f}text{fill:#eee}g:hover "
			"rect{stroke:#eee}}"
			"</style>\n",
			WIDTH + 2 * MARGIN, g.height, WIDTH + 2 * MARGIN, g.height);
		buf_printf(
			g.out,
			"<text x=\"%g\" y=\"20\">Time of all threads: %s on CPU (warm), %s off CPU "
			"(cold)</text>\n",
			MARGIN, num_seconds(a, root->on / 1e9), num_seconds(b, root->off / 1e9));
	} else
		buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n");
	for (size_t i = 0; i < t->n && g.all > 0; i++) {
		const struct wall_node *n = &t->node[i];
		double time = n->on + n->off, x = i ? next[n->parent] : MARGIN;

		next[i] = x;
		if (i)
			next[n->parent] += wall_svg_width_of(&g, time);
		if (wall_svg_width_of(&g, time) >= LEAST)
			put_wall_svg_node(&g, n, x);
	}
	if (g.all > 0)
		buf_puts(out, "</svg>\n");
	out->failed |= g.name.failed;
	buf_free(&g.name);
	free(next);
	return buf_error(out, err);
}
