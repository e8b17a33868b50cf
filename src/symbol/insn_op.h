/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insn_op - kinds of operations (insn_op.def), by their costs.
 */
#ifndef CYCLADE_SYMBOL_INSN_OP_H
#define CYCLADE_SYMBOL_INSN_OP_H

#include <stdbool.h>

enum insn_op {
#define INSN_OP(id, where, name, means) OP_##id,
#include "symbol/insn_op.def"
#undef INSN_OP
	INSN_OPS
};

const char *insn_op_name(enum insn_op op);
const char *insn_op_means(enum insn_op op);
/* `machine` (EM_*) has instructions of it. */
bool insn_op_is_of(enum insn_op op, unsigned machine);

#endif
