/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg - threads over time, for documents: a row for each thread, those that waited longest first.
 * Time is cut into BINS; in each the height of a colour is its part of it, running at the bottom,
 * so that nothing is too short to be seen, and the drawing has a limit whatever the recording.
 * White is outside of the thread's life.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/drawing.h"
#include "report/wait/wait_int.h"

#define NAMES	200.0 /* width */
#define HEAD	58.0
#define AXIS	26.0
#define TALL	20.0
#define BINS	500
#define THREADS 40
#define TICKS	5

enum wait_colour { RUNS, READY, SLEEPS, LOCKED, TRANSFERS, OTHERWISE, NOT_KNOWN, COLOURS };

static const struct {
	const char *kind, *name;
} colours[COLOURS] = {
	[RUNS] = { "r", "running" },
	[READY] = { "w", "waiting for a CPU" },
	[SLEEPS] = { "s", "sleep, poll" },
	[LOCKED] = { "l", "lock" },
	[TRANSFERS] = { "i", "I/O, sockets, pipes" },
	[OTHERWISE] = { "b", "other waits" },
	[NOT_KNOWN] = { "u", "not known" },
};

static enum wait_colour colour_of(enum wait_reason reason)
{
	switch (reason) {
	case WAIT_SLEEP:
	case WAIT_POLL:
	case WAIT_SIGNAL:
	case WAIT_IDLE:
		return SLEEPS;
	case WAIT_LOCK:
	case WAIT_FILE_LOCK:
		return LOCKED;
	case WAIT_IO:
	case WAIT_PIPE:
	case WAIT_SOCKET:
	case WAIT_TERMINAL:
	case WAIT_TRANSFER:
	case WAIT_NOTIFY:
	case WAIT_FAULT:
		return TRANSFERS;
	default:
		break;
	}
	switch (wait_reasons[reason].state) {
	case WAIT_RUNNING:
		return RUNS;
	case WAIT_RUNNABLE:
		return READY;
	case WAIT_UNKNOWN:
		return NOT_KNOWN;
	default:
		return OTHERWISE;
	}
}

struct bin {
	double part[COLOURS];
};

struct timeline {
	struct drawing d;
	const struct wait_view *v;
	size_t n;	 /* threads that are drawn */
	uint32_t *row;	 /* by thread; UINT32_MAX: not drawn */
	struct bin *bin; /* [row * BINS + bin] */
	bool used[COLOURS];
	double ns; /* of a bin */
};

/* Adds a span's time to its bins, as parts of them. */
static void add_span(struct timeline *g, const struct wait_span *s)
{
	const struct wait *w = g->v->w;
	enum wait_colour c = colour_of((enum wait_reason)s->reason);
	double from = (double)(s->from - w->from) / g->ns,
	       until = (double)(s->until - w->from) / g->ns;

	g->used[c] |= s->until > s->from;
	for (size_t i = (size_t)from; i < BINS && (double)i < until; i++) {
		double a = from > (double)i ? from : (double)i;
		double b = until < (double)i + 1 ? until : (double)i + 1;

		g->bin[g->row[s->thread] * BINS + i].part[c] += b - a;
	}
}

static double bin_x(size_t i)
{
	return DRAWING_MARGIN + NAMES + (double)i * (DRAWING_WIDTH - NAMES) / BINS;
}

/* Bins that look the same are one box. */
static void put_row(struct timeline *g, size_t row, double y)
{
	const struct bin *b = &g->bin[row * BINS];
	struct buf *out = g->d.out;

	for (size_t i = 0, k; i < BINS; i = k) {
		double at = y + TALL - 2;

		for (k = i + 1; k < BINS && !memcmp(&b[k], &b[i], sizeof(*b)); k++)
			;
		for (size_t c = 0; c < COLOURS; c++) {
			double tall = b[i].part[c] * (TALL - 4);

			if (tall < 0.05)
				continue;
			at -= tall;
			buf_printf(out,
				   "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				   "height=\"%.1f\"/>",
				   colours[c].kind, bin_x(i), at, bin_x(k) - bin_x(i), tall);
		}
	}
}

static void put_thread(struct timeline *g, size_t row)
{
	const struct wait_thread *t = &g->v->w->thread[g->v->order[row]];
	double y = HEAD + TALL * (double)row;
	char a[NUM_MAX], b[NUM_MAX];
	struct buf *out = g->d.out;

	buf_reset(&g->d.name);
	buf_printf(&g->d.name, "%s %u", *t->comm ? t->comm : "[no name]", t->tid);
	buf_puts(out, "<g><title>");
	html_text(out, buf_str(&g->d.name));
	buf_printf(out, ": running %s, waited %s</title>",
		   num_seconds(a, wait_seconds_of(wait_thread_time(t, WAIT_RUNNING))),
		   num_seconds(b, wait_seconds_of(wait_thread_waited(t))));
	drawing_label(&g->d, DRAWING_MARGIN, y, NAMES - 6);
	put_row(g, row, y);
	buf_puts(out, "</g>\n");
	buf_spill(out);
}

static void put_axis(struct timeline *g)
{
	double y = HEAD + TALL * (double)g->n + 2;
	char text[NUM_MAX];

	buf_printf(g->d.out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", bin_x(0), y,
		   bin_x(BINS));
	for (unsigned i = 0; i <= TICKS; i++) {
		size_t bin = (size_t)BINS * i / TICKS;

		buf_printf(g->d.out, "<path class=\"axis\" d=\"M%.1f %.1fv4\"/>", bin_x(bin), y);
		drawing_text(&g->d, bin_x(bin), y + 16,
			     !i		  ? "start"
			     : i == TICKS ? "end"
					  : "middle",
			     num_seconds(text, g->ns * (double)bin / 1e9));
	}
	buf_putc(g->d.out, '\n');
}

static void put_timeline_head(struct timeline *g)
{
	const struct wait_view *v = g->v;
	struct buf b = BUF_INIT;
	double x = DRAWING_MARGIN;

	buf_printf(&b, "%zu of %zu threads, those that waited longest first: ", g->n, v->n);
	for (size_t i = 0; i < v->source.info->n_cmdline && b.len < 150; i++)
		buf_printf(&b, "%s%.100s", i ? " " : "", v->source.info->cmdline[i]);
	drawing_text(&g->d, x, 20, "start", buf_str(&b));
	for (size_t c = 0; c < COLOURS; c++)
		if (g->used[c])
			x = drawing_key(&g->d, colours[c].kind, x, 40, colours[c].name);
	buf_putc(g->d.out, '\n');
	g->d.out->failed |= b.failed;
	buf_free(&b);
}

int wait_svg(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct timeline g = { .v = d->ctx };
	const struct wait *w = g.v->w;

	(void)s;
	g.n = g.v->n < THREADS ? g.v->n : THREADS;
	g.ns = (double)(w->until - w->from) / BINS;
	g.row = xmalloc((w->n_threads + 1) * sizeof(*g.row));
	g.bin = xcalloc(g.n * BINS + 1, sizeof(*g.bin));
	memset(g.row, 0xff, (w->n_threads + 1) * sizeof(*g.row));
	for (size_t i = 0; i < g.n; i++)
		g.row[g.v->order[i]] = (uint32_t)i;
	for (size_t i = 0; i < w->n_spans && g.ns > 0; i++)
		if (g.row[w->span[i].thread] != UINT32_MAX)
			add_span(&g, &w->span[i]);
	drawing_begin(&g.d, out, DRAWING_WIDTH + 2 * DRAWING_MARGIN,
		      HEAD + TALL * (double)g.n + AXIS,
		      ".r{fill:#e07b20}.w{fill:#f2c94c}.s{fill:#dcdcdc}.l{fill:#c0504d}"
		      ".i{fill:#4f81bd}.b{fill:#9b86b8}.u{fill:#7a7a7a}",
		      ".r{fill:#d9730d}.w{fill:#a88a20}.s{fill:#3a3a3a}.l{fill:#a03c3a}"
		      ".i{fill:#3a6ea5}.b{fill:#75619a}.u{fill:#777}");
	put_timeline_head(&g);
	for (size_t i = 0; i < g.n && !out->failed; i++)
		put_thread(&g, i);
	put_axis(&g);
	drawing_end(&g.d);
	free(g.row);
	free(g.bin);
	return buf_error(out, err);
}
