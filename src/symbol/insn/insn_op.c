/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/insn_op.h"

#include <elf.h>

enum { X86 = 1, ARM64 = 2, BOTH = 3 };

static const struct {
	unsigned char where;
	const char *name, *means;
} ops[] = {
#define INSN_OP(id, where, name, means) { where, name, means },
#include "symbol/insn_op.def"
#undef INSN_OP
};

const char *insn_op_name(enum insn_op op)
{
	return ops[op].name;
}

const char *insn_op_means(enum insn_op op)
{
	return ops[op].means;
}

bool insn_op_is_of(enum insn_op op, unsigned machine)
{
	return ops[op].where & (machine == EM_AARCH64 ? ARM64 : X86);
}
