/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_blocks - how often instructions ran, from branch stacks, beside the samples: a figure at
 * the first instruction of each block, and at its branch how often taken ones were mispredicted.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "report/blocks_view.h"
#include "report/page.h"

void annotate_blocks(struct annotate *a, const struct blocks *b)
{
	const struct block_function *f = NULL;

	for (size_t i = 0; i < b->n && !f; i++)
		if (b->f[i].image == a->target.image && b->f[i].symbol == a->target.symbol &&
		    b->f[i].code)
			f = &b->f[i];
	if (!a->has_code)
		return;
	if (!f) {
		annotate_note(a, "no branch stack shows this function running");
		return;
	}
	a->taken = arena_xalloc(&a->arena, f->code->n_blocks * sizeof(*a->taken));
	memset(a->taken, 0, f->code->n_blocks * sizeof(*a->taken));
	/* The taken branches of a block, together. */
	for (size_t i = 0; i < f->n_edges; i++) {
		const struct block_edge *e = &f->edge[i];

		if (e->from == CODE_NONE || e->fallthrough)
			continue;
		a->taken[e->from].mispredicted += e->tally.mispredicted;
		a->taken[e->from].predicted += e->tally.predicted;
	}
	a->blocks = b;
	a->ran = f;
	if (flow_sums(b->flow)->leaning)
		annotate_note(a, "~ behind runs: %s", page_leaning(flow_sums(b->flow)));
	vec_each (&a->insn, struct annotate_insn *, i)
		i->block = i->in.vaddr < f->code->vaddr
				   ? CODE_NONE
				   : code_block_of(f->code,
						   i->in.vaddr - f->code->vaddr + f->code->start);
}

const struct block *annotate_block_of(const struct annotate *a, const struct annotate_insn *i,
				      bool *first, bool *last)
{
	const struct code_block *c;
	uint64_t at;

	*first = *last = false;
	if (!a->ran || i->block == CODE_NONE)
		return NULL;
	c = &a->ran->code->block[i->block];
	at = i->in.vaddr - a->ran->code->vaddr;
	*first = at == c->start;
	*last = at + i->in.len == c->end;
	return &a->ran->block[i->block];
}

static double line_block_mispredicted(const struct annotate *a, const struct annotate_insn *i)
{
	return blocks_mispredicted(&a->taken[i->block]);
}

void annotate_blocks_head(struct buf *out, const struct annotate *a)
{
	if (a->ran)
		buf_printf(out, "  %9s %-6s misp", a->blocks->scaled ? "runs" : "weight", "");
}

void annotate_blocks_blank(struct buf *out, const struct annotate *a)
{
	if (a->ran)
		buf_fill(out, ' ', ANNOTATE_BLOCKS_WIDTH);
}

void annotate_blocks_cells(struct buf *out, const struct annotate *a, const struct annotate_insn *i)
{
	bool first, last;
	const struct block *k = annotate_block_of(a, i, &first, &last);
	char n[NUM_MAX], e[NUM_MAX] = "";

	if (!a->ran)
		return;
	if (first && k->hits) {
		double share = 100 * k->runs.half / k->runs.v;

		if (share < 99.5)
			(void)snprintf(e, sizeof(e),
				       k->runs.leans  ? "+-%.0f%%~"
				       : share < 9.95 ? "+-%.1f%%"
						      : "+-%.0f%%",
				       share);
		buf_printf(out, "  %9s %-6s",
			   num_count(n, k->runs.v < 1e6 ? round(k->runs.v) : k->runs.v),
			   *e		   ? e
			   : k->runs.leans ? "+-?~"
					   : "+-?");
	} else {
		buf_printf(out, "  %9s %-6s", first ? "-" : "", "");
	}
	if (last && !isnan(line_block_mispredicted(a, i)))
		buf_printf(out, " %3.0f%%", 100 * line_block_mispredicted(a, i));
	else
		buf_fill(out, ' ', 5);
}
