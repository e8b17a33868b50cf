/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks_times - distributions of timed branch records in words: blocks_view.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/estimate.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/blocks_view.h"

enum { STRETCHES = 8 }; /* that are shown */

bool blocks_block_shape(const struct blocks_view *v, const struct block *k, struct flow_shape *out)
{
	size_t n;
	const struct flow_times *t = flow_times(v->b->flow, &n);

	if (!k->timed || k->times >= n)
		return false;
	flow_shape(out, &t[k->times], (uint64_t)llround(k->cycles * (double)k->timed),
		   k->time_stacks);
	return true;
}

bool blocks_loop_shape(const struct block_loop *l, struct flow_shape *out)
{
	if (!l->iteration)
		return false;
	flow_shape(out, &l->iteration->times, l->iteration->cycles, l->iteration->stacks);
	return true;
}

struct blocks_iteration blocks_iteration(const struct blocks *b, const struct block_loop *l)
{
	const struct block_times *t = l->iteration;
	struct blocks_iteration out = { NAN, NAN, NAN, NULL };
	double n, var;

	if (!t)
		return out;
	n = (double)t->n;
	out.mean = (double)t->cycles / n;
	if (t->n < 2)
		return out;
	var = (t->cycles_sq - (double)t->cycles * out.mean) / (n - 1);
	out.sd = sqrt(var > 0 ? var : 0);
	if (flow_sums(b->flow)->late) /* rounds that wait are seen more often */
		out.why = flow_late;
	else if (t->stacks > 1) /* times of one stack are not independent */
		out.half = Z95 * out.sd / sqrt((double)t->stacks);
	return out;
}

const char *blocks_quantile(char out[NUM_MAX], const struct flow_quantile *q)
{
	if (isnan(q->v) || isnan(q->high))
		(void)snprintf(out, NUM_MAX, "?");
	else
		(void)snprintf(out, NUM_MAX, "%.0f", q->v);
	return out;
}

/* "p50 4 (4 to 5)". */
static void put_quantile(struct buf *b, const char *name, const struct flow_quantile *q)
{
	char a[NUM_MAX];

	buf_printf(b, "%s %s", name, blocks_quantile(a, q));
	if (!isnan(q->high) && q->high > q->low)
		buf_printf(b, " (%.0f to %.0f)", q->low, q->high);
	else if (isnan(q->high) && !isnan(q->low))
		buf_printf(b, " (%.0f or more)", q->low);
}

void blocks_put_shape(struct buf *b, const struct flow_shape *s)
{
	put_quantile(b, "p50", &s->p50);
	buf_puts(b, ", ");
	put_quantile(b, "p95", &s->p95);
	if (s->several) {
		buf_puts(b, "; modes at ");
		for (unsigned i = 0; i < s->modes; i++)
			buf_printf(b, "%s%.0f (%.0f %%)", i ? ", " : "", s->mode[i].at,
				   100 * s->mode[i].share);
	}
	if (s->heavy)
		buf_printf(b, "; the slowest 5 %% have %.0f %% of the cycles", 100 * s->tail);
}

void blocks_put_iteration(struct buf *out, const struct blocks *b, const struct block_loop *l)
{
	const struct blocks_iteration it = blocks_iteration(b, l);
	struct flow_shape s;

	if (!blocks_loop_shape(l, &s))
		return;
	buf_printf(out, "cycles a round: %.1f", it.mean);
	if (!isnan(it.half))
		buf_printf(out, " +-%.1f %%", it.mean > 0 ? 100 * it.half / it.mean : 0);
	else
		buf_puts(out, it.why ? " +-?~" : " +-?");
	if (!isnan(it.sd) && it.mean > 0)
		buf_printf(out, ", varies by %.0f %% (sd %.1f)", 100 * it.sd / it.mean, it.sd);
	buf_puts(out, ", ");
	blocks_put_shape(out, &s);
}

void blocks_mark(char out[3], const struct flow_shape *s)
{
	(void)snprintf(out, 3, "%c%c", s->several ? 'm' : ' ', s->heavy ? 't' : ' ');
}

/* ---- stretches ------------------------------------------------------------------------------ */

struct stretch {
	const struct flow_span *span;
	double cycles; /* of all its runs */
};

static int by_cycles(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

/* Whether a span begins in a function that is shown. */
static bool is_shown(const struct blocks_view *v, const struct flow_span *s)
{
	for (size_t i = 0; i < v->b->n; i++) {
		const struct block_function *f = &v->b->f[i];

		if (f->code && f->image == s->image && s->start - f->code->start < f->code->len)
			return true;
	}
	return false;
}

static void put_stretch(struct page *p, const struct blocks_view *v, const struct stretch *x,
			double all)
{
	const struct flow_span *s = x->span;
	const struct flow_place at = { s->image, s->start, s->kind };
	size_t n;
	const struct flow_times *t = flow_times(v->b->flow, &n);
	const char *dso;
	const struct symbol *sym = blocks_symbol(v, &at, &dso);
	struct flow_shape shape;
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], d[NUM_MAX], tail[48], mark[3];

	flow_shape(&shape, &t[s->times], s->cycles, s->time_stacks);
	blocks_mark(mark, &shape);
	buf_printf(p->out, " %7s %9s %7.1f %5s %5s %s  ", num_percent(a, x->cycles / all),
		   num_exact(b, s->timed), (double)s->cycles / (double)s->timed,
		   blocks_quantile(c, &shape.p50), blocks_quantile(d, &shape.p95), mark);
	(void)snprintf(tail, sizeof(tail), "+0x%" PRIx64 "..+0x%" PRIx64,
		       s->start - (sym ? sym->start : 0), s->end - (sym ? sym->start : 0));
	page_named(p, sym ? sym->name : dso ? dso : "?", tail, page_room(p, 42));
	page_end(p);
	if (!shape.several && !shape.heavy)
		return;
	buf_reset(&p->text);
	blocks_put_shape(&p->text, &shape);
	buf_printf(p->out, "%19s", "");
	text_put_wrapped(p->out, buf_str(&p->text), 19, p->st->width);
	page_end(p);
}

int blocks_put_stretches(struct page *p, const struct blocks_view *v)
{
	VEC(struct stretch) list = VEC_INIT;
	size_t n;
	const struct flow_span *s = flow_spans(v->b->flow, &n);
	double all = 0;

	for (size_t i = 0; i < n; i++) {
		double cycles;

		if (!s[i].timed || s[i].times == FLOW_NO_TIMES)
			continue;
		cycles = flow_sum(&s[i].w) * (double)s[i].cycles / (double)s[i].timed;
		all += cycles;
		if (v->opts.function && !is_shown(v, &s[i]))
			continue;
		if (vec_push(&list, ((struct stretch){ &s[i], cycles }))) {
			vec_free(&list);
			return -1;
		}
	}
	vec_sort(&list, by_cycles);
	if (list.n) {
		page_end(p);
		page_ink(p, INK_BOLD);
		buf_printf(p->out, " %7s %9s %7s %5s %5s     from one branch to the next",
			   "of time", "times", "cycles", "p50", "p95");
		page_ink(p, INK_PLAIN);
		page_end(p);
	}
	for (size_t i = 0; i < list.n && i < STRETCHES; i++)
		put_stretch(p, v, &list.v[i], all);
	if (list.n > STRETCHES) {
		page_ink(p, INK_DIM);
		buf_printf(p->out, "%42s(%zu more)", "", list.n - STRETCHES);
		page_ink(p, INK_PLAIN);
		page_end(p);
	}
	vec_free(&list);
	return 0;
}
