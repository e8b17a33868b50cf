/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as machine code, any spans and edges over it: what is counted by starts and ends of
 * spans is held against a count of each block by itself; loops are told so that none holds itself.
 */
#include <elf.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/flow/blocks_int.h"
#include "analyse/flow/flow_int.h"

#define BASE	  0x400000u
#define SPANS_MAX 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool true_)
{
	if (!true_)
		abort();
}

/* Two bytes each: where from and where to, a little beyond the code on either side. */
static void read_flow(struct flow *f, const uint8_t *p, size_t len)
{
	size_t n = len / 4 < SPANS_MAX ? len / 4 : SPANS_MAX;

	f->span = calloc(n + 1, sizeof(*f->span));
	f->edge = calloc(n + 1, sizeof(*f->edge));
	hold(f->span && f->edge);
	for (size_t i = 0; i < n; i++) {
		uint64_t a = BASE - 16 + ld16(p + 4 * i), b = BASE - 16 + ld16(p + 4 * i + 2);
		struct flow_weight w = { .hits = 1 + (a & 3) };

		w.group[i % FLOW_GROUPS] = (double)(1 + i % 5) / 3;
		if (a <= b)
			f->span[f->n_spans++] = (struct flow_span){ .start = a, .end = b, .w = w };
		f->edge[f->n_edges++] = (struct flow_edge){ .from = { 0, b, SPACE_USER },
							    .to = { 0, a, SPACE_USER },
							    .w = w };
	}
	hold(!flow_sort(f, NULL));
}

static void check_loops(const struct block_function *f)
{
	size_t n = f->code->n_blocks;

	for (uint32_t l = 0; l < f->n_loops; l++) {
		const struct block_loop *p = &f->loop[l];

		hold(p->head < n && f->block[p->head].hits && p->blocks && p->blocks <= n);
		hold(p->parent == CODE_NONE
			     ? p->depth == 1
			     : p->parent < l && f->loop[p->parent].depth + 1 == p->depth);
		hold(block_in_loop(f, p->head, l));
	}
	for (uint32_t b = 0; b < n; b++)
		hold(f->block[b].loop == CODE_NONE || f->block[b].loop < f->n_loops);
}

static void check(struct code *code, const struct flow *f, const struct symbol *symbol)
{
	struct block_part *p;
	uint64_t *hits;
	size_t n;

	hold(!block_part_open(&p, code, f, 0, symbol, NULL));
	n = p->f.code->n_blocks;
	hits = calloc(n + 1, sizeof(*hits));
	hold(hits);
	for (size_t i = 0; i < f->n_spans; i++) {
		const struct flow_span *s = &f->span[i];
		struct block_range r;
		uint64_t at;

		(void)block_part_call_at(p, s->end, &at);
		if (block_part_span(p, s->start, s->end, &r) != BLOCK_DROPS)
			continue;
		hold(r.first <= r.last && r.last < n);
		block_part_count(p, &r, false, &s->w);
		for (uint32_t b = r.first; b <= r.last; b++)
			hits[b] += s->w.hits;
	}
	hold(!block_part_close(p, f, NULL) && !block_find_loops(&p->f, NULL));
	block_scale(&p->f, 1, 1, (struct flow_value){ .half = 1 });
	for (size_t b = 0; b < n; b++) {
		hold(p->f.block[b].hits == hits[b]);
		hold(p->f.block[b].runs.v >= 0 && (hits[b] > 0) == (p->f.block[b].runs.v > 0));
	}
	check_loops(&p->f);
	free(hits);
	block_part_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned machines[] = { EM_X86_64, EM_386, EM_AARCH64 };
	struct symbol symbol = { .name = "f", .linkage = "f", .start = BASE };
	struct flow f = { .n_edges = 0 };
	struct code *code;
	size_t len;

	if (size < 4)
		return 0;
	len = ld16(data + 1) % (size - 3 + 1);
	symbol.size = len;
	if (!len || code_bytes(&code, machines[data[0] % 3], data + 3, len, BASE, NULL))
		return 0;
	read_flow(&f, data + 3 + len, size - 3 - len);
	if (code->n_blocks)
		check(code, &f, &symbol);
	else
		code_free(code);
	free(f.span);
	free(f.edge);
	free(f.into);
	return 0;
}
