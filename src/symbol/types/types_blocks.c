/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_blocks - the code of a function, and its basic blocks.
 */
#include <stdlib.h>

#include "base/bisect.h"
#include "symbol/insn/decode.h"
#include "symbol/types/types_state.h"

static int read_range(struct flow *w, const struct type_range *r)
{
	uint64_t len = r->hi - r->lo;
	const uint8_t *p = disasm_code_at(w->t->code, r->lo, &len);

	for (uint64_t at = 0; p && at < len;) {
		struct effect *e = vec_add(&w->insn);

		if (!e)
			return -1;
		if (w->insn.n > TYPES_MAX_INSNS)
			return 0;
		effect_decode(w->t->decoder, p + at, (size_t)(len - at), r->lo + at, e);
		at += e->len;
	}
	return 0;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

size_t flow_insn_behind(const struct flow *w, uint64_t vaddr)
{
	size_t at;

	bisect(at, w->insn.n, i, w->insn.v[i].vaddr >= vaddr);
	return at;
}

size_t flow_insn_at(const struct flow *w, uint64_t vaddr)
{
	size_t i = flow_insn_behind(w, vaddr);

	return i < w->insn.n && w->insn.v[i].vaddr == vaddr ? i : SIZE_MAX;
}

int flow_read_code(struct flow *w)
{
	for (size_t i = 0; i < w->f->n_ranges; i++)
		if (read_range(w, &w->t->own.v[w->f->first_range + i]))
			return -1;
	vec_sort(&w->insn, by_vaddr);
	return 0;
}

bool flow_follows(const struct flow *w, size_t i)
{
	return i + 1 < w->insn.n && w->insn.v[i + 1].vaddr == w->insn.v[i].vaddr + w->insn.v[i].len;
}

void flow_forget_blocks(struct flow *w)
{
	for (size_t i = 0; i < w->block.n; i++) {
		free(w->block.v[i].in);
		w->block.v[i].in = NULL;
		w->block.v[i].visits = 0;
	}
	w->jumps.any = w->calls.any = w->learnt = w->tables_found = false;
}

static void mark_tables(const struct flow *w, uint8_t *leader)
{
	vec_each (&w->table, const struct flow_table *, x)
		for (size_t k = 0; k < x->n; k++) {
			size_t to = flow_jump_to(w, x, k);

			if (to != SIZE_MAX)
				leader[to] = 1;
		}
}

/* A block begins at targets and behind jumps. */
int flow_make_blocks(struct flow *w)
{
	uint8_t *leader = calloc(w->insn.n + 1, 1);

	if (!leader)
		return -1;
	flow_forget_blocks(w);
	w->block.n = 0;
	free(w->block_of);
	mark_tables(w, leader);
	w->block_of = calloc(w->insn.n + 1, sizeof(*w->block_of));
	for (size_t i = 0; i < w->insn.n; i++) {
		const struct effect *e = &w->insn.v[i];
		size_t to = e->has_target && e->flow != INSN_CALL ? flow_insn_at(w, e->target)
								  : SIZE_MAX;

		leader[i] |= !i || !flow_follows(w, i - 1);
		if (to != SIZE_MAX)
			leader[to] = 1;
		if (e->flow != INSN_OTHER && e->flow != INSN_CALL)
			leader[i + 1] = 1;
	}
	for (size_t i = 0; i < w->insn.n && w->block_of; i++) {
		if (leader[i] && vec_push(&w->block, ((struct flow_block){ .first = i }))) {
			free(leader);
			return -1;
		}
		w->block_of[i] = (uint32_t)(w->block.n - 1);
		vec_last(&w->block)->end = i + 1;
	}
	free(leader);
	return w->block_of ? 0 : -1;
}
