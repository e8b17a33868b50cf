/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/blocks_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const block_drop_key[BLOCK_DROPS] = {
	[BLOCK_NO_CODE] = "no_code",	       [BLOCK_NO_FUNCTION] = "no_function",
	[BLOCK_NOT_AN_INSN] = "not_an_insn",   [BLOCK_NOT_A_BRANCH] = "not_a_branch",
	[BLOCK_ALWAYS_TAKEN] = "always_taken", [BLOCK_OUTSIDE] = "outside",
};

const char *const blocks_filter_name[] = {
	[FLOW_ANY] = "any",	    [FLOW_CALLS] = "calls", [FLOW_RETURNS] = "returns",
	[FLOW_STACK] = "callstack", [FLOW_SOME] = "some",
};

static const struct blocks_format formats[] = {
#define BLOCKS_FORMAT(name, write, machine, visits) { name, write, machine, visits },
#include "report/flow/blocks.def"
#undef BLOCKS_FORMAT
};

const struct blocks_format *blocks_format_find(const char *name, struct err *err)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	(void)err_set(err, ERR_USAGE, "blocks has no format '%.40s'", name);
	(void)err_hint(err, "--format term, csv, json, markdown, dot or svg");
	return NULL;
}

const char *blocks_dso(const struct blocks_view *v, const struct block_function *f)
{
	return image_name(v->images, f->image);
}

void blocks_put_name(struct buf *b, const struct block_function *f, uint32_t block)
{
	uint32_t at = f->code ? f->code->block[block].start : 0;

	buf_puts(b, f->symbol->name);
	if (at)
		buf_printf(b, "+0x%x", at);
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
	if (image_resolve(v->images, at->image, &at->addr, 1, &s, NULL))
		return NULL;
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

static int by_insns(const void *x, const void *y)
{
	const struct blocks_row *a = x, *b = y;

	if (a->insns != b->insns)
		return a->insns > b->insns ? -1 : 1;
	if (a->f != b->f)
		return a->f < b->f ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static int list_rows(struct blocks_view *v)
{
	const struct blocks *b = v->b;
	size_t n = 0, n_loops = 0;

	for (size_t i = 0; i < b->n; i++) {
		n += b->f[i].code ? b->f[i].code->n_blocks : 0;
		n_loops += b->f[i].n_loops;
	}
	v->row = calloc(n + 1, sizeof(*v->row));
	v->loop = calloc(n_loops + 1, sizeof(*v->loop));
	if (!v->row || !v->loop)
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		const struct block_function *f = &b->f[i];

		for (uint32_t k = 0; f->code && k < f->code->n_blocks; k++)
			if (f->block[k].hits)
				v->row[v->n_rows++] = (struct blocks_row){
					f, k, f->block[k].runs.v * f->code->block[k].n
				};
		for (uint32_t k = 0; k < f->n_loops; k++)
			v->loop[v->n_loops++] =
				(struct blocks_row){ f, k, f->block[f->loop[k].head].runs.v };
	}
	if (!v->opts.function)
		qsort(v->row, v->n_rows, sizeof(*v->row), by_insns);
	qsort(v->loop, v->n_loops, sizeof(*v->loop), by_insns);
	return 0;
}

int blocks_view_build(struct blocks_view **out, const struct blocks *b, struct images *images,
		      const struct view_source *source, const struct blocks_view_opts *opts,
		      struct err *err)
{
	struct blocks_view *v = calloc(1, sizeof(*v));

	if (!v)
		return err_nomem(err);
	v->b = b;
	v->images = images;
	v->source = *source;
	v->opts = *opts;
	v->balance = blocks_balance(b);
	if (!v->balance.places && flow_balance(&v->places, b->flow, BLOCKS_BALANCE_HITS, err))
		goto failed;
	if (list_rows(v)) {
		(void)err_nomem(err);
		goto failed;
	}
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
	free(v->row);
	free(v->loop);
	free(v);
}
