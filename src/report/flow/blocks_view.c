/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/xalloc.h"
#include "report/blocks_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"

const char *blocks_dso(const struct blocks_view *v, const struct block_function *f)
{
	return image_name(v->images, f->image);
}

uint64_t blocks_vaddr(const struct blocks_view *v, uint32_t image, uint64_t addr)
{
	uint64_t vaddr;

	if (image != IMAGE_NONE && image_to_vaddr(v->images, image, addr, &vaddr))
		return vaddr;
	return addr;
}

struct source_line blocks_line(const struct blocks_view *v, const struct block_function *f,
			       uint32_t block)
{
	const struct source_line none = { .file = NULL };
	const struct source *s = source_of(v->images, f->image, NULL);

	if (!s || !f->code)
		return none;
	return source_line(s, f->code->vaddr + f->code->block[block].start);
}

const struct symbol *blocks_symbol(const struct blocks_view *v, const struct flow_place *at,
				   const char **dso)
{
	const struct symbol *s = NULL;

	*dso = NULL;
	if (at->image == IMAGE_NONE)
		return NULL;
	*dso = image_name(v->images, at->image);
	image_resolve(v->images, at->image, &at->addr, 1, &s);
	return s;
}

double blocks_mispredicted(const struct branch_tally *t)
{
	uint64_t n = t->mispredicted + t->predicted;

	return n ? (double)t->mispredicted / (double)n : NAN;
}

const char *blocks_scale_says(const struct blocks *b)
{
	switch (flow_sums(b->flow)->counts) {
	case FLOW_COUNTS_TAKEN:
		return "the event counts the branches that are recorded";
	case FLOW_COUNTS_BRANCHES:
		return "the event counts branches, and the code says how many a run has";
	case FLOW_COUNTS_INSNS:
		return "the event counts instructions, and the code says how many a run has";
	case FLOW_COUNTS_CYCLES:
		return b->scaled ? "the event counts cycles, and so do the stacks"
				 : "the event counts cycles, the stacks do not";
	case FLOW_COUNTS_OTHER:
	default:
		return "the event counts nothing that a branch could be held against";
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int blocks_view_by_weight(const void *x, const void *y)
{
	const struct blocks_row *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->f != b->f)
		return a->f < b->f ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static void list_blocks_view_rows(struct blocks_view *v, const struct block_function *f)
{
	for (uint32_t k = 0; f->code && k < f->code->n_blocks; k++) {
		const struct block *b = &f->block[k];
		double insns = b->hits ? b->runs.v * f->code->block[k].n : 0;

		vec_xpush(&v->row, ((struct blocks_row){ f, k, insns }));
		v->ran += b->hits != 0;
		v->timed |= b->timed != 0;
	}
	for (uint32_t k = 0; k < f->n_edges; k++)
		vec_xpush(&v->edge, ((struct blocks_row){ f, k, f->edge[k].runs.v }));
	for (uint32_t k = 0; k < f->n_loops; k++)
		vec_xpush(&v->loop,
			  ((struct blocks_row){ f, k, f->block[f->loop[k].head].runs.v }));
}

/* ---- a function ------------------------------------------------------------------------------ */

enum { EDGES = 8 }; /* from outside into a block */

static void list_blocks(struct blocks_view *v, struct blocks_listing l)
{
	vec_xpush(&v->listing, l);
}

/* Edges into a block that come from other functions, hottest first; not returns, which are many and
 * only show that the call came back. */
static void list_edges_in(struct blocks_view *v, const struct block_function *f, uint32_t block)
{
	const struct block_edge *best[EDGES] = { NULL };
	size_t left = 0;

	if (block && f->code->block[block - 1].flow == INSN_CALL)
		return;
	for (size_t i = 0; i < f->n_edges; i++) {
		const struct block_edge *e = &f->edge[i];

		if (e->to != block || e->from != CODE_NONE)
			continue;
		for (size_t k = 0; k < EDGES && e; k++) {
			if (best[k] && best[k]->runs.v >= e->runs.v)
				continue;
			const struct block_edge *t = best[k];

			best[k] = e;
			e = t;
		}
		left += e != NULL;
	}
	for (size_t k = 0; k < EDGES && best[k]; k++)
		list_blocks(v, (struct blocks_listing){ f, best[k], block, 0, LIST_IN });
	if (left)
		list_blocks(v, (struct blocks_listing){ f, NULL, block, left, LIST_MORE });
}

static void list_edges_out(struct blocks_view *v, const struct block_function *f, uint32_t block)
{
	size_t at;

	bisect(at, f->n_edges, i, f->edge[i].from >= block); /* sorted by their source */
	for (; at < f->n_edges && f->edge[at].from == block; at++)
		list_blocks(v, (struct blocks_listing){ f, &f->edge[at], block, 0, LIST_OUT });
}

/* Its blocks with their edges; how many in a row did not run. */
static void list_blocks_view_function(struct blocks_view *v, const struct block_function *f)
{
	for (uint32_t i = 0; f->code && i < f->code->n_blocks; i++) {
		struct blocks_listing l = { f, NULL, i, 1, LIST_BLOCK };

		if (f->block[i].hits) {
			list_edges_in(v, f, i);
			list_blocks(v, l);
			list_edges_out(v, f, i);
			continue;
		}
		l.kind = LIST_COLD;
		for (; i + 1 < f->code->n_blocks && !f->block[i + 1].hits; i++)
			l.n++;
		list_blocks(v, l);
	}
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int blocks_view_by_time(const void *x, const void *y)
{
	const struct blocks_interval *a = x, *b = y;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

/* Returns true if a span begins in a function that is shown. */
static bool blocks_view_is_shown(const struct blocks_view *v, const struct flow_span *s)
{
	for (size_t i = 0; v->opts.function && i < v->b->n; i++) {
		const struct block_function *f = &v->b->f[i];
		uint64_t start = f->code ? f->code->start : f->symbol->start;

		if (f->image == s->image && s->start >= start &&
		    s->start - start < (f->code ? f->code->len : f->symbol->size))
			return true;
	}
	return !v->opts.function;
}

static void list_intervals(struct blocks_view *v)
{
	size_t n;
	const struct flow_span *s = flow_spans(v->b->flow, &n);

	for (size_t i = 0; i < n; i++) {
		struct blocks_interval x = { &s[i], flow_sum(&s[i].w), 0 };

		if (s[i].timed && s[i].times != FLOW_NO_TIMES)
			x.cycles = x.weight * (double)s[i].cycles / (double)s[i].timed;
		v->cycles += x.cycles;
		for (unsigned g = 0; g < FLOW_SLOTS; g++)
			v->group[g] += s[i].w.group[g];
		if (blocks_view_is_shown(v, &s[i]))
			vec_xpush(&v->interval, x);
	}
	vec_sort(&v->interval, blocks_view_by_time);
}

/* ---- the view -------------------------------------------------------------------------------- */

int blocks_view_build(struct blocks_view **out, const struct blocks *b, struct images *images,
		      const struct view_source *source, const struct blocks_view_opts *opts,
		      struct err *err)
{
	struct blocks_view *v = xcalloc(1, sizeof(*v));

	v->b = b;
	v->images = images;
	v->source = *source;
	v->opts = *opts;
	v->balance = blocks_balance(b);
	if (!v->balance.places && flow_balance(&v->places, b->flow, BLOCKS_BALANCE_HITS, err))
		goto failed;
	for (size_t i = 0; i < v->b->n; i++) {
		list_blocks_view_rows(v, &v->b->f[i]);
		if (v->opts.function)
			list_blocks_view_function(v, &v->b->f[i]);
	}
	if (!v->opts.function) {
		vec_sort(&v->row, blocks_view_by_weight);
		vec_sort(&v->edge, blocks_view_by_weight);
	}
	vec_sort(&v->loop, blocks_view_by_weight);
	list_intervals(v);
	*out = v;
	return 0;
failed:
	blocks_view_free(v);
	return -1;
}

void blocks_view_free(struct blocks_view *v)
{
	if (!v)
		return;
	vec_free(&v->row);
	vec_free(&v->edge);
	vec_free(&v->loop);
	vec_free(&v->listing);
	vec_free(&v->interval);
	free(v);
}
