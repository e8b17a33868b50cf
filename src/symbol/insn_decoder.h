/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_decoder - the decoder of a machine's instructions, one at a time, to ask for their effects:
 * symbol/effect.h, symbol/operands.h. For their text there is symbol/disasm.h.
 *
 * One thread at a time uses a decoder.
 */
#ifndef CYCLADE_SYMBOL_INSN_DECODER_H
#define CYCLADE_SYMBOL_INSN_DECODER_H

struct insn_decoder;

/* `machine`: of an ELF file. NULL: there is none for it here. */
struct insn_decoder *insn_decoder_new(unsigned machine);
void insn_decoder_free(struct insn_decoder *d); /* NULL is fine */

#endif
