/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands - an instruction's reads and writes: registers, flags, memory.
 *
 *	d = insn_decoder_new(machine)
 *	operands_decode(d, bytes, len, vaddr, &out)
 *	insn_decoder_free(d)
 *
 * Registers are units, a bit each. x86-64 has the 16 general ones, the carry flag, the other flags,
 * vectors, masks; AArch64 x0 to x30, the flags, vectors, and apart from all sets its stack pointer,
 * which only addresses are made of. A write to 32 bits of a general register is of all of it; one
 * to 8 or 16 bits keeps the rest, so that the register is read, too (%ah is a part of %rax). An
 * instruction that keeps the upper half of a vector reads it. A zeroing idiom (xor %eax, %eax)
 * reads nothing.
 *
 * effect.h has the same instructions for following pointers.
 */
#ifndef CYCLADE_SYMBOL_OPERANDS_H
#define CYCLADE_SYMBOL_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/insn_decoder.h"
#include "symbol/insn_op.h"

enum { /* units */
       UNIT_GENERAL = 0,
       UNIT_STACK = 4,	/* %rsp */
       UNIT_CARRY = 16, /* of x86-64, as masks are; of AArch64 this is x16 */
       UNIT_MASK = 17,
       UNIT_FLAGS = 31, /* below it are those that addresses can be made of */
       UNIT_VECTOR = 32,
       UNITS = 64,
       UNIT_SP = 64, /* of AArch64: in no set */
       UNIT_NONE = 255,
};

struct operands_memory {
	uint8_t base, index, scale; /* units of general registers; UNIT_NONE: none */
	uint8_t segment;	    /* 0: none that matters */
	bool load, store;
	uint16_t bytes;
	int64_t disp; /* of `absolute` the address */
	bool absolute;
	bool relative; /* `absolute`, and counts from the instruction's own address */
	bool narrow;   /* the address has 32 bits */
};

struct operands {
	uint8_t op; /* enum insn_op */
	uint8_t len;
	bool bad;
	uint8_t flow;  /* enum insn_flow (disasm.h); of x86-64 */
	bool direct;   /* of a jump or call: its target stands in it */
	bool leaves;   /* call, return, system call: the next instruction is elsewhere */
	bool breaks;   /* waits for all before it, or all behind it for it: cpuid, fences */
	bool atomic;   /* locked */
	bool serial;   /* of `breaks`: fences and the like */
	bool string;   /* of `breaks`: movs, stos, ... */
	bool compares; /* fuses with a conditional branch behind it */
	uint16_t bits; /* of vectors; else 0 */
	uint64_t reads, writes; /* units; reads: without those of the address */
	uint64_t address;	/* units that addresses are made of */
	uint64_t sum;		/* those of `reads` that are added at the end of a multiplication */
	uint64_t flags;		/* units that are flags on this machine */
	uint8_t stepped;	/* of `writes`: an address that is moved on; UNIT_NONE */
	uint8_t n_memory;
	struct operands_memory memory[2];
	/* Addresses: unit `known` becomes that of `from` plus `add`; UNIT_NONE: nothing is known.
	 * `from` UNIT_NONE: becomes `add`. Of a load `copies` is its unit and of a store the unit
	 * stored, all 8 bytes. */
	uint8_t known, from, copies;
	int64_t add;
};

/* Of x86-64. */
void operands_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		     struct operands *out);
/* Of AArch64, which takes no decoder. */
void operands_arm64(const uint8_t *p, size_t len, uint64_t vaddr, struct operands *out);

#endif
