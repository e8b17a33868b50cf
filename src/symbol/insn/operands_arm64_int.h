/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands_arm64_int - shared by the two halves of AArch64's operands: general fields of words.
 */
#ifndef CYCLADE_SYMBOL_OPERANDS_ARM64_INT_H
#define CYCLADE_SYMBOL_OPERANDS_ARM64_INT_H

#include "symbol/operands.h"

#define A64_ZERO 31u /* the register of 0, or the stack pointer */

static inline unsigned a64_field(uint32_t word, unsigned lsb, unsigned bits)
{
	return word >> lsb & ((1u << bits) - 1);
}

static inline int64_t a64_signed(uint32_t word, unsigned lsb, unsigned bits)
{
	uint32_t sign = 1u << (bits - 1);

	return (int64_t)(a64_field(word, lsb, bits) ^ sign) - (int64_t)sign;
}

/* Returns the bit of a general register; that of 0 is in no set. */
static inline uint64_t a64_general(unsigned r)
{
	return r == A64_ZERO ? 0 : UINT64_C(1) << r;
}

static inline uint64_t a64_vector(unsigned r)
{
	return UINT64_C(1) << (UNIT_VECTOR + r);
}

/* The unit of a register that an address is made of, where 31 is the stack pointer. */
static inline uint8_t a64_base(unsigned r)
{
	return r == A64_ZERO ? UNIT_SP : (uint8_t)r;
}

/* Loads and stores: fills the operands; false: it is neither. */
bool operands_arm64_memory(uint32_t word, uint64_t vaddr, struct operands *o);

#endif
