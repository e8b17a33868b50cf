/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums - where slots went: for each instruction in each calling context, exactly.
 *
 *	sums_open(&s, machine, &err)
 *	sums_block(s, ...)		a block's instructions, once
 *	b = sums_enter(s, context, block)	it runs in this context: b->runs is counted
 *	sums_charge(s, place, cause, slots)	the model's
 *	sums_call(s, context, callee, behind)	the context of a call
 *	sums_close(s)
 *
 * A context is a way of calls from the program's start. A function that is called in its own
 * context again, from the same place, is the same context: recursion is shown once, so that the
 * number of contexts does not grow with its depth. Beyond CONTEXTS_MOST the caller's is used.
 */
#ifndef CYCLADE_SIMULATE_SUMS_H
#define CYCLADE_SIMULATE_SUMS_H

#include "base/hash.h"
#include "base/vec.h"
#include "simulate/core.h"

#define CONTEXTS_MOST 1000000u

struct sums_context {
	uint32_t parent;
	uint64_t callee, behind; /* where it begins, and where it returns to */
};

struct sums_code { /* a block of the program */
	uint64_t vaddr;
	uint32_t n;
	struct sim_insn *insn;
};

struct sums_block { /* in a context */
	uint32_t context, code;
	uint64_t runs;
	uint64_t *slots; /* by instruction, all causes */
	uint64_t *kept;	 /* of these all but retiring */
};

struct sums {
	VEC(struct sums_context) context; /* 0 is the start */
	VEC(struct sums_code) code;
	VEC(struct sums_block *) block;
	struct u64map children, blocks, parts;
	uint64_t cause[SIM_CAUSES];
	bool full; /* of contexts */
};

void sums_open(struct sums *s);
void sums_close(struct sums *s);
uint32_t sums_call(struct sums *s, uint32_t context, uint64_t callee, uint64_t behind);
struct sums_block *sums_enter(struct sums *s, uint32_t context, uint32_t code);
void sums_charge(void *sums, struct sim_place place, enum sim_cause cause, uint64_t slots);
/* Of an instruction what went to a cause other than retiring, which is the rest. */
uint64_t sums_part_of(const struct sums *s, uint32_t block, uint32_t insn, enum sim_cause cause);

#endif
