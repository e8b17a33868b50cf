/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_decoder_int - Zydis, for effect_x86.c and operands_x86.c; included if HAVE_ZYDIS is set.
 */
#ifndef CYCLADE_SYMBOL_INSN_DECODER_INT_H
#define CYCLADE_SYMBOL_INSN_DECODER_INT_H

#include <stdbool.h>

#include <Zydis/Zydis.h>

#include "symbol/insn_decoder.h"

struct insn_decoder {
	ZydisDecoder d;
	ZydisDecodedInstruction z; /* the one that was decoded last */
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static inline bool zydis_is_vector(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM;
}

/* The number of the general register of 64 bits that it is a part of; -1: it is none. */
static inline int zydis_general(ZydisRegister r)
{
	ZydisRegister all = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	int id = ZydisRegisterGetClass(all) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(all) : -1;

	return id < 16 ? id : -1;
}

/* Where it leads: enum insn_flow. disasm_x86.c */
uint8_t x86_flow(const ZydisDecodedInstruction *z);

#endif
