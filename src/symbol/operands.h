/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands - what an instruction waits for and what waits for it: registers, flags, memory.
 *
 *	d = insn_decoder_new(machine, &nomem)
 *	operands_decode(d, bytes, len, vaddr, &out)
 *	insn_decoder_free(d)
 *
 * Registers are units, a bit each: the 16 general ones, the carry flag, the other flags, vectors,
 * masks. A write to 32 bits of a general register is of all of it; one to 8 or 16 bits keeps the
 * rest, so that the register is read, too (%ah is a part of %rax). What keeps the upper half of a
 * vector reads it. A zeroing idiom (xor %eax, %eax) reads nothing.
 *
 * effect.h has the same instructions as seen by whoever follows pointers.
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
       UNIT_STACK = 4, /* %rsp */
       UNIT_CARRY = 16,
       UNIT_FLAGS = 17,
       UNIT_VECTOR = 18,
       UNIT_MASK = 50,
       UNITS = 58,
       UNIT_NONE = 255,
};

struct operands_memory {
	uint8_t base, index, scale; /* units of general registers; UNIT_NONE: none */
	uint8_t segment;	    /* 0: none that matters */
	bool load, store;
	uint16_t bytes;
	int64_t disp; /* of `absolute` the address */
	bool absolute;
};

struct operands {
	uint8_t op; /* enum insn_op */
	uint8_t len;
	bool bad;
	bool leaves;   /* call, return, system call: what comes next is elsewhere */
	bool breaks;   /* waits for all before it, or all behind it for it: cpuid, fences */
	bool atomic;   /* locked */
	bool compares; /* fuses with a conditional branch behind it */
	uint16_t bits; /* of vectors; else 0 */
	uint64_t reads, writes; /* units; reads: without those of the address */
	uint64_t address;	/* units that addresses are made of */
	uint8_t n_memory;
	struct operands_memory memory[2];
	/* Addresses: unit `known` becomes that of `from` plus `add`; UNIT_NONE: nothing is known.
	 * `from` UNIT_NONE: becomes `add`. Of a load `copies` is its unit and of a store the unit
	 * stored, all 8 bytes. */
	uint8_t known, from, copies;
	int64_t add;
};

void operands_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		     struct operands *out);

#endif
