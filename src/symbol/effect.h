/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * effect - what one instruction does to registers and memory, as far as pointers are concerned.
 *
 * Registers have their DWARF numbers: 0-15 on x86-64.
 */
#ifndef CYCLADE_SYMBOL_EFFECT_H
#define CYCLADE_SYMBOL_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/insn_decoder.h"

enum {
	EFFECT_REGS = 16,
	EFFECT_NONE = 255, /* no register */
	EFFECT_RAX = 0,
	EFFECT_RDI = 5,
	EFFECT_RBP = 6,
	EFFECT_RSP = 7,
	EFFECT_CALL_CLOBBERS = 0x0f37, /* rax rdx rcx rsi rdi r8-r11 */
};

enum effect_op {
	EFFECT_OTHER,	 /* registers of `writes` are not known afterwards */
	EFFECT_COPY,	 /* dst = src */
	EFFECT_CHOOSE,	 /* dst = dst or src */
	EFFECT_SET,	 /* dst = imm */
	EFFECT_LOAD,	 /* dst = mem[0], 8 bytes */
	EFFECT_STORE,	 /* mem[0] = src, 8 bytes */
	EFFECT_LEA,	 /* dst = address of mem[0], which is not accessed */
	EFFECT_ADD,	 /* dst += imm */
	EFFECT_ADD_REG,	 /* dst += src */
	EFFECT_ADD_ANY,	 /* dst += something */
	EFFECT_ADD_LOAD, /* dst += mem[0], 8 bytes */
	EFFECT_PUSH,	 /* src, or EFFECT_NONE */
	EFFECT_POP,	 /* dst, or EFFECT_NONE */
	EFFECT_LEAVE,
	EFFECT_NOP,
};

struct effect_mem {
	uint8_t base, index, width; /* width: bytes, at most 255; 0: not known */
	bool indexed;		    /* by a register, of whatever kind */
	bool plain_index;	    /* by 1: may as well be the base */
	bool load, store;
	bool absolute; /* disp is the address */
	bool segment;  /* fs or gs: thread-local */
	bool implicit; /* push, pop, call, ret */
	bool vector;
	int64_t disp;
};

struct effect {
	uint64_t vaddr, target;
	uint8_t len, flow; /* enum insn_flow */
	bool has_target;
	uint8_t op, dst, src; /* enum effect_op */
	uint8_t n_mem;	      /* that are accessed; of EFFECT_LEA mem[0] is not */
	int64_t imm;
	uint32_t writes; /* registers that change, dst among them */
	struct effect_mem mem[2];
};

/* One instruction; what cannot be decoded is a byte that does nothing. len is not 0. */
void effect_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		   struct effect *out);

#endif
