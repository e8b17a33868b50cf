/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_markdown - the same tables for a comment or a page.
 */
#include <inttypes.h>
#include <math.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "report/blocks_view.h"
#include "report/page.h"

enum { ROWS = 20, LOOPS = 10 };

static void put_name(struct buf *out, const struct block_function *f, uint32_t block)
{
	struct buf name = BUF_INIT;

	blocks_put_name(&name, f, block);
	text_put_markdown(out, buf_str(&name));
	out->failed |= name.failed;
	buf_free(&name);
}

static void put_place(struct buf *out, const struct blocks_view *v, const struct block_function *f,
		      uint32_t block)
{
	struct source_line at = blocks_line(v, f, block);

	put_name(out, f, block);
	buf_puts(out, " | ");
	if (at.file) {
		text_put_markdown(out, path_base(at.file));
		buf_printf(out, ":%u", at.line);
	}
	buf_puts(out, " |\n");
}

static void put_error(struct buf *out, struct flow_value v)
{
	double share = v.half / v.v;

	if (isfinite(share))
		buf_printf(out, " ±%.1f %%%s", 100 * share, v.leans ? " ~" : "");
	else if (v.why)
		buf_puts(out, " ±? ~");
}

static void put_quantiles(struct buf *out, const struct blocks_view *v, const struct block *k)
{
	struct flow_shape s;
	char a[NUM_MAX];

	if (!blocks_block_shape(v, k, &s)) {
		buf_puts(out, "| | ");
		return;
	}
	buf_printf(out, "%s | ", blocks_quantile(a, &s.p50));
	buf_printf(out, "%s%s%s | ", blocks_quantile(a, &s.p95), s.several ? " several modes" : "",
		   s.heavy ? " heavy tail" : "");
}

static void put_rows(struct buf *out, const struct blocks_view *v)
{
	size_t limit = v->opts.limit ? v->opts.limit : v->opts.function ? v->n_rows : ROWS;
	char a[NUM_MAX], b[NUM_MAX];

	buf_printf(out,
		   "| share | %s | instructions | cycles | p50 | p95 | block | line |\n"
		   "|---:|---:|---:|---:|---:|---:|---|---|\n",
		   v->b->scaled ? "runs" : "weight");
	for (size_t i = 0; i < v->n_rows && i < limit; i++) {
		const struct blocks_row *r = &v->row[i];
		const struct block *k = &r->f->block[r->block];

		buf_printf(out, "| %s | %s", num_percent(a, r->insns / v->b->insns.v),
			   num_count(b, k->runs.v));
		put_error(out, k->runs);
		buf_printf(out, " | %" PRIu32 " | ", r->f->code->block[r->block].n);
		if (k->timed)
			buf_printf(out, "%.1f", k->cycles);
		buf_puts(out, " | ");
		put_quantiles(out, v, k);
		put_place(out, v, r->f, r->block);
	}
	if (v->n_rows > limit)
		buf_printf(out, "\n%zu more blocks ran.\n", v->n_rows - limit);
}

static void put_loops(struct buf *out, const struct blocks_view *v)
{
	size_t limit = v->opts.limit ? v->opts.limit : LOOPS;
	char a[NUM_MAX], b[NUM_MAX];

	if (!v->n_loops)
		return;
	buf_puts(out, "\n| trips | entries | blocks | depth | loop | line |\n"
		      "|---:|---:|---:|---:|---|---|\n");
	for (size_t i = 0; i < v->n_loops && i < limit; i++) {
		const struct blocks_row *r = &v->loop[i];
		const struct block_loop *l = &r->f->loop[r->block];

		buf_printf(out, "| %s", isnan(l->trips.v) ? "?" : num_count(a, l->trips.v));
		put_error(out, l->trips);
		buf_printf(out, " | %s", l->entries.v > 0 ? num_count(b, l->entries.v) : "?");
		buf_printf(out, " | %" PRIu32 " | %" PRIu32 " | ", l->blocks, l->depth);
		put_place(out, v, r->f, l->head);
	}
}

int blocks_markdown(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
		    struct err *err)
{
	const struct flow_sums *s = flow_sums(v->b->flow);
	uint64_t gone = 0;

	(void)o;
	buf_printf(out, "%" PRIu64 " branch stacks of ", s->stacks);
	text_put_markdown(out, s->event ? s->event : "several events");
	buf_printf(out, "%s\n\n", v->b->scaled ? "" : "; weights are no executions");
	put_rows(out, v);
	put_loops(out, v);
	if (s->leaning)
		buf_printf(out, "\n~: %s.\n", page_leaning(s));
	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		gone += v->b->dropped[d];
	buf_printf(out,
		   "\n%" PRIu64 " stretches between two branches were used, %" PRIu64
		   " did not fit the code.\n",
		   v->b->used, gone);
	return buf_error(out, err);
}
