/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The curve of latency over size as a drawing: both axes logarithmic, a bar for each error, a
 * dashed line at the size of each cache.
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "report/calibrate_tables.h"

#define WIDTH  760.0
#define HEIGHT 420.0
#define LEFT   60.0
#define RIGHT  20.0
#define TOP    20.0
#define BOTTOM 50.0

/* One curve is drawn: the first, if there is another without prefetchers. */
static size_t n_of_curve(const struct calibrate *c)
{
	size_t n = 0;

	while (n < c->n_points && c->point[n].prefetchers == c->point[0].prefetchers)
		n++;
	return n;
}

struct frame {
	struct buf *out;
	double x0, x1, y0, y1; /* logarithms at the edges: of bytes to 2, of ns to 10 */
};

static double at_x(const struct frame *f, double bytes)
{
	return LEFT + (log2(bytes) - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct frame *f, double ns)
{
	double y = (log10(fmax(ns, pow(10, f->y0))) - f->y0) / (f->y1 - f->y0);

	return HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM);
}

static void line(const struct frame *f, double xa, double ya, double xb, double yb, const char *is)
{
	buf_printf(f->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
		   xa, ya, xb, yb, is);
}

static void label(const struct frame *f, double x, double y, const char *anchor, const char *text)
{
	buf_printf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
		   anchor, text);
}

static void axes(const struct frame *f, const struct calibrate_sizes *s)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} caches[] = { { "L1", s->l1 }, { "L2", s->l2 }, { "L3", s->l3 } };
	char n[NUM_MAX];

	for (double y = f->y0; y <= f->y1; y++) {
		line(f, LEFT, at_y(f, pow(10, y)), WIDTH - RIGHT, at_y(f, pow(10, y)), "grid");
		(void)snprintf(n, sizeof(n), "%g ns", pow(10, y));
		label(f, LEFT - 6, at_y(f, pow(10, y)) + 4, "end", n);
	}
	for (double x = f->x0; x <= f->x1; x += 2) {
		line(f, at_x(f, exp2(x)), TOP, at_x(f, exp2(x)), HEIGHT - BOTTOM, "grid");
		(void)snprintf(n, sizeof(n), x < 20 ? "%g KiB" : "%g MiB",
			       exp2(x < 20 ? x - 10 : x - 20));
		label(f, at_x(f, exp2(x)), HEIGHT - BOTTOM + 18, "middle", n);
	}
	for (size_t i = 0; i < 3; i++) {
		double x = at_x(f, caches[i].bytes ? (double)caches[i].bytes : 1);

		if (x < LEFT || x > WIDTH - RIGHT)
			continue;
		line(f, x, TOP, x, HEIGHT - BOTTOM, "cache");
		label(f, x + 4, TOP + 12, "start", caches[i].name);
	}
	label(f, WIDTH / 2, HEIGHT - 10, "middle", "bytes of a list in random order");
}

static void curve(const struct frame *f, const struct calibrate *c)
{
	buf_puts(f->out, "<polyline class=\"curve\" points=\"");
	for (size_t i = 0; i < n_of_curve(c); i++)
		if (c->point[i].ns.v > 0)
			buf_printf(f->out, "%.1f,%.1f ", at_x(f, (double)c->point[i].bytes),
				   at_y(f, c->point[i].ns.v));
	buf_puts(f->out, "\"/>\n");
	for (size_t i = 0; i < n_of_curve(c); i++) {
		const struct calibrate_point *p = &c->point[i];
		double x = at_x(f, (double)p->bytes);
		char n[NUM_MAX];

		if (!(p->ns.v > 0))
			continue;
		line(f, x, at_y(f, p->ns.v - p->ns.half), x, at_y(f, p->ns.v + p->ns.half),
		     "error");
		buf_printf(f->out,
			   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s: %.3g +-%.2g ns"
			   "</title></circle>\n",
			   x, at_y(f, p->ns.v), num_bytes(n, p->bytes), p->ns.v, p->ns.half);
	}
}

int calibrate_svg(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	const struct calibrate *c = ((const struct calibrate_report *)d->ctx)->c;
	struct frame f = { .out = out, .x0 = INFINITY, .y1 = 1 };

	(void)s;
	for (size_t i = 0; i < n_of_curve(c); i++) {
		double top = c->point[i].ns.v + c->point[i].ns.half;

		if (isnan(top))
			continue;
		f.x0 = fmin(f.x0, floor(log2((double)c->point[i].bytes)));
		f.x1 = fmax(f.x1, ceil(log2((double)c->point[i].bytes)));
		f.y1 = fmax(f.y1, ceil(log10(top)));
	}
	if (!(f.x1 > f.x0))
		return err_set(err, ERR_NOT_FOUND, "there is no curve of latency to be drawn");
	buf_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
		"height=\"%g\" font-family=\"sans-serif\" font-size=\"12\">\n<style>.grid{stroke:"
		"#ddd}.cache{stroke:#888;stroke-dasharray:4 3}.curve{fill:none;stroke:#1565c0;"
		"stroke-width:2}.error{stroke:#1565c0}circle{fill:#1565c0}</style>\n<rect "
		"width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	axes(&f, &c->sizes);
	curve(&f, c);
	buf_puts(out, "</svg>\n");
	return buf_error(out, err);
}
