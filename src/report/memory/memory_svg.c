/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of all latencies as a picture, one below the other: bins of powers of two, or of equal
 * width.
 */
#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/memory/memory_int.h"

#define WIDTH  800.0
#define HEIGHT 260.0 /* of one histogram */
#define LEFT   60.0
#define RIGHT  20.0
#define TOP    40.0
#define BOTTOM 40.0

struct drawing {
	struct buf *out;
	double y; /* top of the histogram at hand */
};

static void put_memory_svg_bar(const struct drawing *g, const struct memory_linear_bin *b,
			       size_t at, size_t n, uint64_t most)
{
	double step = (WIDTH - LEFT - RIGHT) / (double)n, x = LEFT + step * (double)at,
	       full = HEIGHT - TOP - BOTTOM, h = full * (double)b->n / (double)most,
	       bottom = g->y + HEIGHT - BOTTOM;
	char text[NUM_MAX];

	buf_printf(g->out,
		   "<g><title>%" PRIu64 " to below %" PRIu64 " cycles: %s samples, %.2f %%</title>"
		   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>\n",
		   b->low, b->high, num_exact(text, b->n), 100 * (double)b->n / (double)b->s->n, x,
		   bottom - h, fmax(step - 1, 0.5), h);
	if (at % (n / 12 + 1) == 0)
		buf_printf(g->out,
			   "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%" PRIu64
			   "</text>\n",
			   x, bottom + 16, b->low);
}

static void put_histogram(struct drawing *g, const struct memory_linear_bin *b, size_t n)
{
	uint64_t most = 1;
	char text[NUM_MAX];

	for (size_t i = 0; i < n; i++)
		most = b[i].n > most ? b[i].n : most;
	buf_printf(g->out, "<text x=\"%g\" y=\"%g\" class=\"head\">%s latency, %s</text>\n", LEFT,
		   g->y + 20, memop_latency_head(b->s->latency),
		   memop_latency_means(b->s->latency));
	buf_printf(g->out, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
		   g->y + TOP + 4, num_exact(text, most));
	buf_printf(g->out,
		   "<path d=\"M%g %gV%gH%g\"/>\n<text x=\"%g\" y=\"%g\" text-anchor=\"end\">cycles"
		   "</text>\n",
		   LEFT, g->y + TOP, g->y + HEIGHT - BOTTOM, WIDTH - RIGHT, WIDTH - RIGHT,
		   g->y + HEIGHT - 6);
	for (size_t i = 0; i < n; i++)
		put_memory_svg_bar(g, &b[i], i, n, most);
	g->y += HEIGHT;
}

/* The bins of the tables: from the first with samples to the last one. */
static size_t powers_of_two(const struct memory *m, const struct memory_spread *s,
			    struct memory_linear_bin *out)
{
	size_t n = 0, used = 0;

	for (int log2 = -1; log2 < 32; log2++) {
		uint64_t low = log2 < 0 ? 0 : UINT64_C(1) << log2,
			 high = log2 < 0 ? 1 : UINT64_C(2) << log2;
		struct memory_linear_bin b = { s, low, high, memory_count_in(m, s, log2) };

		if (!n && !b.n)
			continue;
		out[n++] = b;
		used = b.n ? n : used;
	}
	return used;
}

int memory_svg(struct buf *out, const struct document *d, const struct show *show, struct err *err)
{
	const struct memory_view *v = d->ctx;
	const struct memory *m = v->m;
	const struct memory_group *all = &m->group[m->first[MEMORY_ALL]];
	size_t n_all = m->first[MEMORY_ALL + 1] > m->first[MEMORY_ALL] ? all->n_spreads : 0;
	struct memory_linear_bin *bin = xcalloc(MEMORY_LINEAR_BINS, sizeof(*bin));
	struct drawing g = { .out = out };

	(void)show;
	if (!n_all) {
		free(bin);
		return err_set(err, ERR_NOT_FOUND, "no sample has a latency to be drawn");
	}
	buf_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
		"height=\"%g\" font-family=\"sans-serif\" font-size=\"12\">\n<style>svg{background:"
		"#fff}rect{fill:#1565c0}path{fill:none;stroke:#888}text{fill:#111}.head{font-"
		"weight:"
		"bold}@media(prefers-color-scheme:dark){svg{background:#181818}rect{fill:#64b5f6}"
		"text{fill:#eee}}</style>\n",
		WIDTH, HEIGHT * (double)n_all, WIDTH, HEIGHT * (double)n_all);
	for (size_t i = 0; i < n_all; i++) {
		const struct memory_spread *s = &m->spread[all->first_spread + i];
		size_t n = v->is_linear ? memory_linear_bins(v, s, bin) : powers_of_two(m, s, bin);

		put_histogram(&g, bin, n);
	}
	buf_puts(out, "</svg>\n");
	free(bin);
	return buf_error(out, err);
}
