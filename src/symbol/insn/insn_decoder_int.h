/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_decoder_int - Zydis, for effect_x86.c and operands_x86.c; included where HAVE_ZYDIS is.
 */
#ifndef CYCLADE_SYMBOL_INSN_DECODER_INT_H
#define CYCLADE_SYMBOL_INSN_DECODER_INT_H

#include <Zydis/Zydis.h>

#include "symbol/insn_decoder.h"

struct insn_decoder {
	ZydisDecoder d;
	ZydisDecodedInstruction z; /* the one that was decoded last */
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

#endif
