/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * effect - the effect of one instruction on registers and memory, as far as pointers are concerned.
 *
 * Registers have their DWARF numbers: 0-15 on x86-64; on AArch64 0-30, and 31 is the stack pointer.
 */
#ifndef CYCLADE_SYMBOL_EFFECT_H
#define CYCLADE_SYMBOL_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/insn_decoder.h"

enum {
	EFFECT_REGS = 32,
	EFFECT_ARGUMENTS = 8,
	EFFECT_ZERO = 254, /* of AArch64: the register that is 0 */
	EFFECT_NONE = 255, /* no register */
	EFFECT_RAX = 0,
	EFFECT_RDI = 5,
	EFFECT_RBP = 6,
	EFFECT_RSP = 7,
};

/* An instruction set and its procedure call standard. */
struct effect_machine {
	uint8_t regs, sp, result;
	uint8_t memory_result;	    /* has the address of a structure that is returned */
	bool memory_result_is_back; /* a call returns that in `result` */
	int8_t entry;		    /* the stack pointer behind the CFA where a function begins */
	uint8_t arguments, argument[EFFECT_ARGUMENTS];
	uint32_t clobbers; /* registers that a call does not keep */
	int8_t thread;	   /* 1: variables of a thread lie behind its pointer; -1: before it */
};

enum effect_op {
	EFFECT_OTHER,	 /* registers of `writes` are not known afterwards */
	EFFECT_COPY,	 /* dst = src */
	EFFECT_CHOOSE,	 /* dst = src or src2 */
	EFFECT_SET,	 /* dst = imm */
	EFFECT_LOAD,	 /* dst = mem[0], 8 bytes; of a pair src2 = the next 8 */
	EFFECT_STORE,	 /* mem[0] = src, 8 bytes; of a pair the next 8 = src2 */
	EFFECT_LEA,	 /* dst = address of mem[0], which is not accessed */
	EFFECT_ADD,	 /* dst += imm */
	EFFECT_ADD_REG,	 /* dst += src */
	EFFECT_ADD_ANY,	 /* dst += something */
	EFFECT_LESS,	 /* dst = src - src2 */
	EFFECT_THREAD,	 /* dst = the pointer that the thread's variables are found by */
	EFFECT_ADD_LOAD, /* dst += mem[0], 8 bytes */
	EFFECT_PUSH,	 /* src, or EFFECT_NONE */
	EFFECT_POP,	 /* dst, or EFFECT_NONE */
	EFFECT_LEAVE,
	EFFECT_COMPARE, /* something with imm */
	EFFECT_NOP,
};

struct effect_mem {
	uint8_t base, index, width; /* width: bytes, at most 255; 0: not known */
	bool indexed;		    /* by a register, of whatever kind */
	bool plain_index;	    /* by 1: may as well be the base */
	bool load, store;
	bool absolute; /* disp is the address */
	bool segment;  /* fs or gs: an offset from where the thread's pointer is */
	bool implicit; /* push, pop, call, ret */
	bool vector;
	int64_t disp;
};

struct effect {
	uint64_t vaddr, target;
	uint8_t len, flow; /* enum insn_flow */
	bool has_target;
	uint8_t op, dst, src, src2; /* enum effect_op */
	bool pair;
	uint8_t n_mem; /* that are accessed; of EFFECT_LEA mem[0] is not */
	uint8_t step;  /* a register that is moved on by step_by behind all else; EFFECT_NONE */
	int64_t step_by;
	int64_t imm;
	uint32_t writes; /* registers that change, dst among them */
	struct effect_mem mem[2];
};

/* By e_machine; NULL: its instructions are not decoded. */
const struct effect_machine *effect_machine(unsigned machine);
/* One instruction; an undecodable instruction is a byte, or a word, that does nothing. len is not
 * 0. `d` NULL: of AArch64. */
void effect_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		   struct effect *out);
/* effect_arm64.c */
void effect_arm64(const uint8_t *p, size_t len, uint64_t vaddr, struct effect *out);

#endif
