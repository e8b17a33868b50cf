/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_class - classes of instructions (insn_class.def), the same for x86 and AArch64.
 */
#ifndef CYCLADE_SYMBOL_INSN_CLASS_H
#define CYCLADE_SYMBOL_INSN_CLASS_H

enum insn_class {
#define INSN_CLASS(id, name, means) INSN_##id##_CLASS,
#include "symbol/insn_class.def"
#undef INSN_CLASS
	INSN_CLASSES
};

/* Of insn.memory */
enum { INSN_READS = 1, INSN_WRITES = 2 };

const char *insn_class_name(enum insn_class c);
const char *insn_class_means(enum insn_class c);

#endif
