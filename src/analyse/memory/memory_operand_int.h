/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_operand_int - the data address of a sample that has none, from its registers and the
 * memory operand of its instruction.
 *
 *	memory_operand_event(rec, event, &how)	once an event
 *	memory_operand_begin(&x, spaces)
 *	memory_operand_find(&x, sample, fits, &op, &why, &err)	one that wants it
 *	memory_operand_free(&x)
 *
 * PEBS on x86-64 alone gives registers of a known instruction: they are those behind it, whose
 * address a sample with EXACT_IP has (registers.h). So an address is base + index * scale +
 * displacement if the instruction writes neither register, which is true of stores and of loads
 * that keep their pointer. IBS and other interrupts have registers of a later instruction. There
 * is one operand, or no answer: which of two a sample is of is not known. The code of the kernel is
 * not that of its file.
 *
 * An op that has no kind becomes the load or store that the operand is, as wide as it.
 *
 * Costs: memory of distinct instructions, each decoded once. One thread at a time, also of the
 * images.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_OPERAND_INT_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_OPERAND_INT_H

#include "analyse/itab.h"
#include "analyse/memory.h"
#include "analyse/pass.h"
#include "base/vec.h"
#include "symbol/operands.h"

struct memory_operand {
	uint64_t addr; /* image address */
	uint32_t image;
	enum memory_operand_why why; /* MEMORY_OPERAND_COMPUTED: the instruction allows it */
	struct operands_memory at;
};

struct memory_operand_work {
	struct spaces *spaces;
	struct insn_decoder *decoder;
	VEC(struct memory_operand) v;
	struct itab by_addr;
};

/* How its samples fit: MEMORY_OPERAND_UNWANTED, MEMORY_OPERAND_COMPUTED, or why none can have an
 * address. */
#define MEMORY_OPERAND_UNWANTED MEMORY_OPERANDS
enum memory_operand_why memory_operand_event(const struct pd *rec, const struct pd_event *ev,
					     const struct memop_how *how);
void memory_operand_begin(struct memory_operand_work *x, struct spaces *sp);
/* Fills op->address; *why: whether it did. -1: out of memory. */
int memory_operand_find(struct memory_operand_work *x, const struct pass_sample *p,
			enum memory_operand_why fits, struct memop *op,
			enum memory_operand_why *why, struct err *err) MUST_USE;
void memory_operand_free(struct memory_operand_work *x);

#endif
