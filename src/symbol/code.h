/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code - a stretch of machine code taken apart: instructions and basic blocks, no samples.
 *
 *	code_read(&c, images, image, start, len, &err)	the bytes of an image, by image addresses
 *	code_bytes(&c, machine, p, len, start, &err)	the same over bytes
 *	code_split(c, leader, n)			block starts that only a run shows
 *	code_free(c)
 *
 * A basic block begins where code can be entered (the start, targets of direct branches, behind
 * every instruction that can leave) and ends with the first instruction that can leave it: a jump,
 * a call, a return, or nothing, where the next block begins. A call ends a block, too: how often
 * its two sides ran is measured apart, and a callee need not come back. Targets of indirect jumps
 * are not in the code: code_split() adds those that were seen. So does a system call, or any other
 * instruction that goes to the kernel and comes back behind; a conditional move or a fault does
 * not.
 *
 * Text is not made (disasm.h does that for display), which is several times faster.
 * Threads: a finished struct code may be read by any number of them.
 */
#ifndef CYCLADE_SYMBOL_CODE_H
#define CYCLADE_SYMBOL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/disasm.h"
#include "symbol/image.h"

#define CODE_NONE UINT32_MAX
#define CODE_FAR  UINT64_MAX

struct code_insn {
	uint32_t at; /* bytes from the start */
	uint8_t len;
	uint8_t flow;	 /* enum insn_flow */
	bool has_target; /* of a direct jump or call */
	bool bad;	 /* not decodable: one byte (x86) or one word that stands for itself */
	uint64_t target; /* image address; may lie anywhere. CODE_FAR: in no image's addresses */
};

struct code_block {
	uint32_t insn, n;      /* first instruction, how many */
	uint32_t start, end;   /* bytes from the code's start, [start, end) */
	uint8_t flow;	       /* of its last instruction; INSN_OTHER: runs into the next block */
	bool indirect;	       /* a jump or call by registers */
	uint32_t next, target; /* blocks: behind it, if execution can get there from here; where
				* its direct branch leads within this code. CODE_NONE */
};

struct code {
	uint64_t start, len; /* image addresses; len is the part that the file really holds */
	uint64_t vaddr;	     /* of start: as disassemblers print */
	struct code_insn *insn;
	struct code_block *block; /* by address, without gaps */
	size_t n_insns, n_blocks;
};

/* ERR_NOT_FOUND if the file with the code is not there or not to be trusted. */
int code_read(struct code **out, struct images *set, uint32_t image, uint64_t start, uint64_t len,
	      struct err *err) MUST_USE;
int code_bytes(struct code **out, unsigned machine, const uint8_t *p, size_t len, uint64_t start,
	       struct err *err) MUST_USE;
void code_free(struct code *c); /* NULL is fine */

/* Further block starts, image addresses in any order; those inside an instruction or outside the
 * code are skipped: returns their number. */
size_t code_split(struct code *c, const uint64_t *leader, size_t n);

/* The instruction at exactly this image address, the one that has its byte, or the block that holds
 * it; CODE_NONE. */
uint32_t code_insn_at(const struct code *c, uint64_t addr);
uint32_t code_insn_of(const struct code *c, uint64_t addr);
uint32_t code_block_of(const struct code *c, uint64_t addr);

#endif
