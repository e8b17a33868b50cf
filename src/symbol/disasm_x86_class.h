/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_x86_class - class, width and memory of an instruction that Zydis decoded with all of its
 * operands. Only in builds with Zydis.
 */
#ifndef CYCLADE_SYMBOL_DISASM_X86_CLASS_H
#define CYCLADE_SYMBOL_DISASM_X86_CLASS_H

#include "config.h"
#include "symbol/disasm.h"

#if HAVE_ZYDIS
#include <Zydis/Zydis.h>

/* in->flow is set. */
void disasm_x86_class(struct insn *in, const ZydisDecodedInstruction *z,
		      const ZydisDecodedOperand *op);
#endif

#endif
