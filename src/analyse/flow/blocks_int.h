/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_int - shared by the files of blocks: a function while its spans are being counted.
 *
 *	block_part_open(&p, code, place, &err)	the code, split at the targets of edges of `flow`
 *	block_part_span() block_part_count()	spans, checked and counted
 *	block_part_close(p, flow, &f, &err)	counts, edges, times entered: unscaled
 *	block_find_loops(f, &err)		after that
 *	block_scale(f, scale, each, unseen)	once for all figures
 */
#ifndef CYCLADE_ANALYSE_FLOW_BLOCKS_INT_H
#define CYCLADE_ANALYSE_FLOW_BLOCKS_INT_H

#include "analyse/blocks.h"

struct block_sum {
	double group[FLOW_SLOTS];
	uint64_t hits;
};

struct block_part {
	struct block_function f;
	struct block_sum *start, *end; /* spans that begin and end in a block */
	uint32_t *stop;		       /* the first block from here on that no span runs past */
	struct block_sum in, out; /* spans that come from the function in front, or run on behind */
	uint64_t in_from;	  /* the source of those: its last instruction */
};

/* The blocks of a span in one function; `past`: it runs on behind the last block. */
struct block_range {
	uint32_t first, last;
	bool past;
};

/* Takes `code`, also when it fails. NULL code: there is none. */
int block_part_open(struct block_part **out, struct code *code, const struct flow *flow,
		    uint32_t image, const struct symbol *symbol, struct err *err) MUST_USE;
void block_part_free(struct block_part *p); /* NULL is fine */
/* Finds the system call that ends right in front of `behind`; returns false if none does. */
bool block_part_call_at(const struct block_part *p, uint64_t behind, uint64_t *at);
/* Finds the blocks from `start` up to `end` or the function's end, which is nearer; returns
 * BLOCK_DROPS if the span is fine. */
enum block_drop block_part_span(const struct block_part *p, uint64_t start, uint64_t end,
				struct block_range *range);
void block_part_count(struct block_part *p, const struct block_range *r, bool from_front,
		      const struct flow_weight *w);
int block_part_close(struct block_part *p, const struct flow *flow, struct err *err) MUST_USE;

void block_function_free(struct block_function *f);
int block_find_loops(struct block_function *f, struct err *err) MUST_USE;
/* Scaled: `each` hit's mean weight; `unseen`, the error of a block without hits. */
void block_scale(struct block_function *f, double scale, double each, struct flow_value unseen);

/* Returns true if no execution runs on behind it without a branch. */
static inline bool block_always_leaves(const struct code_block *b)
{
	return b->flow == INSN_JUMP || b->flow == INSN_CALL || b->flow == INSN_RETURN ||
	       b->flow == INSN_STOP;
}

/* Returns the number of instructions in [start, end], both of `code`. */
static inline uint32_t block_insns(const struct code *c, uint64_t start, uint64_t end)
{
	return code_insn_at(c, end) - code_insn_at(c, start) + 1;
}

static inline void block_sum_add(struct block_sum *to, const double group[FLOW_SLOTS],
				 uint64_t hits)
{
	for (unsigned g = 0; g < FLOW_SLOTS; g++)
		to->group[g] += group[g];
	to->hits += hits;
}

#endif
