/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands_x86 - x86-64 through Zydis. Operations are found by the beginnings of mnemonics, `v` of
 * AVX left out; a row of the table stands before those that its beginning is a beginning of.
 */
#include "symbol/operands.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

#if HAVE_ZYDIS
#include "symbol/insn/insn_decoder_int.h"

/* ---- operations ------------------------------------------------------------------------------ */

enum { EXACT = 1, GENERAL = 2, VECTOR = 4 };

static const struct {
	const char *begins;
	uint8_t op, only; /* EXACT: the whole name; GENERAL, VECTOR: by a register of this kind */
} by_name[] = {
	{ "nop", OP_NOP, 0 },
	{ "endbr", OP_NOP, 0 },
	{ "prefetch", OP_NOP, 0 },
	{ "zeroupper", OP_NOP, 0 },
	{ "adc", OP_CARRY, 0 },
	{ "ado", OP_CARRY, 0 },
	{ "sbb", OP_CARRY, 0 },
	{ "addsub", OP_FADD, VECTOR },
	{ "addp", OP_FADD, VECTOR },
	{ "adds", OP_FADD, VECTOR },
	{ "subp", OP_FADD, VECTOR },
	{ "subs", OP_FADD, VECTOR },
	{ "mulp", OP_FMUL, VECTOR },
	{ "muls", OP_FMUL, VECTOR },
	{ "fmadd", OP_FMA, VECTOR },
	{ "fmsub", OP_FMA, VECTOR },
	{ "fnmadd", OP_FMA, VECTOR },
	{ "fnmsub", OP_FMA, VECTOR },
	{ "divps", OP_FDIV32, VECTOR },
	{ "divss", OP_FDIV32, VECTOR },
	{ "divpd", OP_FDIV64, VECTOR },
	{ "divsd", OP_FDIV64, VECTOR },
	{ "sqrtps", OP_FSQRT32, VECTOR },
	{ "sqrtss", OP_FSQRT32, VECTOR },
	{ "sqrtpd", OP_FSQRT64, VECTOR },
	{ "sqrtsd", OP_FSQRT64, VECTOR },
	{ "minp", OP_FMINMAX, VECTOR },
	{ "mins", OP_FMINMAX, VECTOR },
	{ "maxp", OP_FMINMAX, VECTOR },
	{ "maxs", OP_FMINMAX, VECTOR },
	{ "cmpp", OP_FMINMAX, VECTOR },
	{ "cmps", OP_FMINMAX, VECTOR },
	{ "comis", OP_FCOMPARE, VECTOR },
	{ "ucomis", OP_FCOMPARE, VECTOR },
	{ "roundp", OP_FROUND, VECTOR },
	{ "rounds", OP_FROUND, VECTOR },
	{ "xorp", OP_VLOGIC, VECTOR },
	{ "andp", OP_VLOGIC, VECTOR },
	{ "andnp", OP_VLOGIC, VECTOR },
	{ "orp", OP_VLOGIC, VECTOR },
	{ "pxor", OP_VLOGIC, VECTOR },
	{ "pand", OP_VLOGIC, VECTOR },
	{ "por", OP_VLOGIC, VECTOR },
	{ "pternlog", OP_VLOGIC, VECTOR },
	{ "padds", OP_VALU_SLOW, VECTOR },
	{ "paddus", OP_VALU_SLOW, VECTOR },
	{ "psubs", OP_VALU_SLOW, VECTOR },
	{ "psubus", OP_VALU_SLOW, VECTOR },
	{ "pabs", OP_VALU_SLOW, VECTOR },
	{ "pavg", OP_VALU_SLOW, VECTOR },
	{ "padd", OP_VALU, VECTOR },
	{ "psub", OP_VALU, VECTOR },
	{ "pcmpeqq", OP_VALU_SLOW, VECTOR },
	{ "pcmpeq", OP_VALU, VECTOR },
	{ "pcmpgt", OP_VALU, VECTOR },
	{ "pmax", OP_VALU, VECTOR },
	{ "pmin", OP_VALU, VECTOR },
	{ "psll", OP_VSHIFT, VECTOR },
	{ "psrl", OP_VSHIFT, VECTOR },
	{ "psra", OP_VSHIFT, VECTOR },
	{ "pmulld", OP_VMUL_SLOW, VECTOR },
	{ "pmul", OP_VMUL, VECTOR },
	{ "pmadd", OP_VMUL, VECTOR },
	{ "perm2f", OP_SHUFFLE_FAR, VECTOR },
	{ "perm2i", OP_SHUFFLE_FAR, VECTOR },
	{ "permq", OP_SHUFFLE_FAR, VECTOR },
	{ "permd", OP_SHUFFLE_FAR, VECTOR },
	{ "permps", OP_SHUFFLE_FAR, VECTOR },
	{ "permpd", OP_SHUFFLE_FAR, VECTOR },
	{ "extractf", OP_SHUFFLE_FAR, VECTOR },
	{ "extracti", OP_SHUFFLE_FAR, VECTOR },
	{ "insertf", OP_INSERT_FAR, VECTOR },
	{ "inserti", OP_INSERT_FAR, VECTOR },
	{ "permil", OP_SHUFFLE, VECTOR },
	{ "pshufb", OP_SHUFFLE_BYTES, VECTOR },
	{ "pshuf", OP_SHUFFLE, VECTOR },
	{ "shufp", OP_SHUFFLE, VECTOR },
	{ "unpck", OP_SHUFFLE, VECTOR },
	{ "punpck", OP_SHUFFLE, VECTOR },
	{ "pack", OP_SHUFFLE_BYTES, VECTOR },
	{ "palignr", OP_SHUFFLE_BYTES, VECTOR },
	{ "pslldq", OP_SHUFFLE, VECTOR },
	{ "psrldq", OP_SHUFFLE, VECTOR },
	{ "movddup", OP_SHUFFLE, VECTOR },
	{ "movshdup", OP_SHUFFLE, VECTOR },
	{ "movsldup", OP_SHUFFLE, VECTOR },
	{ "movhlps", OP_SHUFFLE, VECTOR },
	{ "movlhps", OP_SHUFFLE, VECTOR },
	{ "movhp", OP_SHUFFLE, VECTOR },
	{ "movlp", OP_SHUFFLE, VECTOR },
	{ "insertps", OP_SHUFFLE, VECTOR },
	{ "blendp", OP_BLEND, VECTOR },
	{ "pblendd", OP_BLEND, VECTOR },
	{ "cvtsi2s", OP_CONVERT_TO, 0 },
	{ "cvtsd2si", OP_CONVERT_FROM, 0 },
	{ "cvtss2si", OP_CONVERT_FROM, 0 },
	{ "cvttsd2si", OP_CONVERT_FROM, 0 },
	{ "cvttss2si", OP_CONVERT_FROM, 0 },
	{ "cvtdq2ps", OP_CONVERT, VECTOR },
	{ "cvtps2dq", OP_CONVERT, VECTOR },
	{ "cvttps2dq", OP_CONVERT, VECTOR },
	{ "cvtss2sd", OP_CONVERT_SIZE, VECTOR },
	{ "cvtsd2ss", OP_CONVERT_SIZE, VECTOR },
	{ "cvtps2pd", OP_CONVERT_SIZE, VECTOR },
	{ "cvtpd2ps", OP_CONVERT_SIZE, VECTOR },
	{ "cvtdq2pd", OP_CONVERT_SIZE, VECTOR },
	{ "cvtpd2dq", OP_CONVERT_SIZE, VECTOR },
	{ "cvttpd2dq", OP_CONVERT_SIZE, VECTOR },
	{ "aes", OP_AES, VECTOR },
	{ "pclmul", OP_CLMUL, VECTOR },
	{ "movmsk", OP_FROM_VECTOR, 0 },
	{ "pmovmsk", OP_FROM_VECTOR, 0 },
	{ "movap", OP_VMOVE, VECTOR },
	{ "movup", OP_VMOVE, VECTOR },
	{ "movdq", OP_VMOVE, VECTOR },
	{ "movss", OP_VMOVE, VECTOR },
	{ "movsd", OP_VMOVE, VECTOR },
	{ "movd", OP_VMOVE, VECTOR },
	{ "movq", OP_VMOVE, VECTOR },
	{ "lddqu", OP_VMOVE, VECTOR },
	{ "movnt", OP_VMOVE, VECTOR },
	{ "broadcast", OP_BROADCAST, VECTOR },
	{ "pbroadcast", OP_BROADCAST, VECTOR },
	{ "add", OP_ALU, GENERAL | EXACT },
	{ "sub", OP_ALU, GENERAL | EXACT },
	{ "and", OP_ALU, GENERAL | EXACT },
	{ "or", OP_ALU, GENERAL | EXACT },
	{ "xor", OP_ALU, GENERAL | EXACT },
	{ "cmp", OP_ALU, GENERAL | EXACT },
	{ "test", OP_ALU, GENERAL | EXACT },
	{ "inc", OP_ALU, GENERAL | EXACT },
	{ "dec", OP_ALU, GENERAL | EXACT },
	{ "neg", OP_ALU, GENERAL | EXACT },
	{ "not", OP_ALU, GENERAL | EXACT },
	{ "cbw", OP_ALU, EXACT },
	{ "cwde", OP_ALU, EXACT },
	{ "cdqe", OP_ALU, EXACT },
	{ "cdq", OP_ALU, EXACT },
	{ "cqo", OP_ALU, EXACT },
	{ "shld", OP_SHIFT_TWO, GENERAL },
	{ "shrd", OP_SHIFT_TWO, GENERAL },
	{ "shlx", OP_SHIFT_FREE, GENERAL },
	{ "shrx", OP_SHIFT_FREE, GENERAL },
	{ "sarx", OP_SHIFT_FREE, GENERAL },
	{ "rorx", OP_SHIFT_FREE, GENERAL },
	{ "shl", OP_SHIFT, GENERAL | EXACT },
	{ "shr", OP_SHIFT, GENERAL | EXACT },
	{ "sar", OP_SHIFT, GENERAL | EXACT },
	{ "rol", OP_SHIFT, GENERAL | EXACT },
	{ "ror", OP_SHIFT, GENERAL | EXACT },
	{ "lea", OP_LEA, GENERAL | EXACT },
	{ "cmov", OP_SELECT, GENERAL },
	{ "set", OP_SETCC, GENERAL },
	{ "bt", OP_BIT, GENERAL },
	{ "andn", OP_BITS, GENERAL | EXACT },
	{ "bls", OP_BITS, GENERAL },
	{ "bzhi", OP_BITS, GENERAL },
	{ "bextr", OP_BITS, GENERAL },
	{ "bsf", OP_SCAN, GENERAL },
	{ "bsr", OP_SCAN, GENERAL },
	{ "lzcnt", OP_SCAN, GENERAL },
	{ "tzcnt", OP_SCAN, GENERAL },
	{ "popcnt", OP_COUNT, GENERAL },
	{ "pdep", OP_DEPOSIT, GENERAL },
	{ "pext", OP_DEPOSIT, GENERAL | EXACT },
	{ "crc32", OP_DEPOSIT, GENERAL },
	{ "bswap", OP_SWAP, GENERAL },
	{ "imul", OP_MUL, GENERAL },
	{ "mulx", OP_MUL_WIDE, GENERAL },
	{ "mul", OP_MUL_WIDE, GENERAL | EXACT },
	{ "div", OP_DIV32, GENERAL | EXACT },
	{ "idiv", OP_DIV32, GENERAL },
	{ "movsx", OP_EXTEND, GENERAL },
	{ "movzx", OP_EXTEND, GENERAL },
	{ "mov", OP_MOVE, EXACT },
	{ "movnti", OP_MOVE, EXACT },
	{ "push", OP_MOVE, EXACT },
	{ "pop", OP_MOVE, EXACT },
	{ "jmp", OP_JUMP, EXACT },
};

static bool is_general(ZydisRegister r)
{
	return zydis_general(r) >= 0;
}

static bool is_register(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static uint8_t of_name(const struct insn_decoder *d, bool vector)
{
	const char *name = ZydisMnemonicGetString(d->z.mnemonic);
	unsigned has = vector ? VECTOR : GENERAL;

	if (!name)
		return OP_OTHER;
	if (d->z.meta.category == ZYDIS_CATEGORY_COND_BR)
		return name[0] == 'j' && strcmp(name, "jrcxz") && strcmp(name, "jecxz") ? OP_BRANCH
											: OP_OTHER;
	if (*name == 'v' && d->z.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		name++;
	for (size_t i = 0; i < sizeof(by_name) / sizeof(*by_name); i++) {
		unsigned only = by_name[i].only & (GENERAL | VECTOR);
		size_t n = strlen(by_name[i].begins) + (by_name[i].only & EXACT ? 1 : 0);

		if ((!only || only == has) && !strncmp(name, by_name[i].begins, n))
			return by_name[i].op;
	}
	return OP_OTHER;
}

static bool is_copy_op(uint8_t op)
{
	return op == OP_MOVE || op == OP_VMOVE || op == OP_BROADCAST || op == OP_EXTEND;
}

static uint8_t lea_of(const ZydisDecodedOperand *op)
{
	bool disp = op->mem.disp.has_displacement && op->mem.disp.value;
	bool base = op->mem.base != ZYDIS_REGISTER_NONE,
	     index = op->mem.index != ZYDIS_REGISTER_NONE;

	if (base && index && disp)
		return OP_LEA_SLOW;
	return index && op->mem.scale > 1 ? OP_LEA_SCALED : OP_LEA;
}

static bool steps(const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0];
	bool imm = d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (!is_register(a) || a->size < 32)
		return false;
	return d->z.mnemonic == ZYDIS_MNEMONIC_INC || d->z.mnemonic == ZYDIS_MNEMONIC_DEC ||
	       (imm &&
		(d->z.mnemonic == ZYDIS_MNEMONIC_ADD || d->z.mnemonic == ZYDIS_MNEMONIC_SUB));
}

/* The operation, refined by its operands. */
static uint8_t refine_x86(const struct insn_decoder *d, uint8_t op, const struct operands *o)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	bool load = o->n_memory && o->memory[0].load, store = o->n_memory && o->memory[0].store;

	switch (op) {
	case OP_ALU:
		return steps(d) ? OP_STEP : OP_ALU;
	case OP_LEA:
		return lea_of(b);
	case OP_SHIFT:
		return is_register(b) && b->reg.value == ZYDIS_REGISTER_CL ? OP_SHIFT_BY : OP_SHIFT;
	case OP_SHIFT_TWO:
		return is_register(&d->op[2]) ? OP_OTHER : OP_SHIFT_TWO;
	case OP_VSHIFT: /* by a vector: two operations */
		return b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
				       d->op[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE
			       ? OP_VSHIFT
			       : OP_OTHER;
	case OP_MUL:
		return d->z.operand_count_visible == 1 ? OP_MUL_WIDE : OP_MUL;
	case OP_DIV32:
		return d->z.operand_width == 64 ? OP_DIV64 : OP_DIV32;
	case OP_MOVE:
		if (load || store)
			break;
		if (b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return a->size < 32 ? OP_EXTEND : OP_SET;
		if (!is_register(a) || !is_register(b) || !is_general(a->reg.value) ||
		    !is_general(b->reg.value))
			return OP_OTHER; /* of segments, control registers */
		return a->size < 32 ? OP_EXTEND : OP_MOVE;
	case OP_VMOVE:
	case OP_BROADCAST:
		if (load || store)
			break;
		if (is_register(b) && is_general(b->reg.value))
			return OP_TO_VECTOR;
		if (is_register(a) && is_general(a->reg.value))
			return OP_FROM_VECTOR;
		break;
	default:
		break;
	}
	if (is_copy_op(op) && store && !load)
		return OP_STORE;
	if (is_copy_op(op) && load && !store)
		return op == OP_VMOVE || op == OP_BROADCAST ? OP_LOAD_VECTOR : OP_LOAD;
	return op;
}

/* ---- registers ------------------------------------------------------------------------------- */

static uint8_t x86_unit(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);
	int id = ZydisRegisterGetId(r);

	if (zydis_is_vector(r))
		return id >= 0 && id < 32 ? (uint8_t)(UNIT_VECTOR + id) : UNIT_NONE;
	if (c == ZYDIS_REGCLASS_MASK)
		return id >= 0 && id < 8 ? (uint8_t)(UNIT_MASK + id) : UNIT_NONE;
	id = zydis_general(r);
	return id >= 0 ? (uint8_t)id : UNIT_NONE;
}

static uint64_t bit(uint8_t unit)
{
	return unit == UNIT_NONE ? 0 : UINT64_C(1) << unit;
}

static void add_register(struct operands *o, const ZydisDecodedOperand *op)
{
	uint8_t unit = x86_unit(op->reg.value);
	bool part = unit < UNIT_CARRY && op->size < 32;

	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		o->reads |= bit(unit);
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		o->writes |= bit(unit);
		if (part || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
			o->reads |= bit(unit);
	}
	if (zydis_is_vector(op->reg.value) && op->size > o->bits)
		o->bits = op->size;
}

static void add_memory_operand(struct operands *o, const struct insn_decoder *d,
			       const ZydisDecodedOperand *op, uint64_t vaddr)
{
	struct operands_memory *m = &o->memory[o->n_memory];
	ZyanU64 at;

	if (op->mem.type ==
	    ZYDIS_MEMOP_TYPE_AGEN) { /* lea computes with registers that others address by */
		o->reads |= bit(x86_unit(op->mem.base)) | bit(x86_unit(op->mem.index));
		return;
	}
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || o->n_memory == 2) {
		o->breaks = true; /* vectors of addresses */
		return;
	}
	if (!(op->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)))
		return;
	o->n_memory++;
	*m = (struct operands_memory){
		.base = x86_unit(op->mem.base),
		.index = x86_unit(op->mem.index),
		.scale = op->mem.scale,
		.segment = op->mem.segment == ZYDIS_REGISTER_FS	  ? 1
			   : op->mem.segment == ZYDIS_REGISTER_GS ? 2
								  : 0,
		.load = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
		.store = (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
		.bytes = op->size / 8,
		.disp = op->mem.disp.has_displacement ? op->mem.disp.value : 0,
		.narrow = d->z.address_width == 32,
	};
	o->address |= bit(m->base) | bit(m->index);
	if (op->mem.base == ZYDIS_REGISTER_RIP &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->z, op, vaddr, &at))) {
		m->absolute = m->relative = true;
		m->disp = (int64_t)at;
	} else if (op->mem.base == ZYDIS_REGISTER_NONE) {
		m->absolute = true;
	}
}

static void add_flags(struct operands *o, const struct insn_decoder *d)
{
	const ZydisAccessedFlags *f = d->z.cpu_flags;
	const uint32_t carry = ZYDIS_CPUFLAG_CF, others = ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF |
							  ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
							  ZYDIS_CPUFLAG_OF;
	uint32_t writes;

	if (!f)
		return;
	writes = f->modified | f->set_0 | f->set_1 | f->undefined;
	o->reads |= (f->tested & carry ? bit(UNIT_CARRY) : 0) |
		    (f->tested & others ? bit(UNIT_FLAGS) : 0);
	o->writes |=
		(writes & carry ? bit(UNIT_CARRY) : 0) | (writes & others ? bit(UNIT_FLAGS) : 0);
}

/* One number goes into a vector whose upper part stays. */
static bool keeps_upper(const struct insn_decoder *d)
{
	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_ROUNDSS:
		return true;
	case ZYDIS_MNEMONIC_MOVSD: /* between registers; the string instruction has none */
	case ZYDIS_MNEMONIC_MOVSS:
		return is_register(&d->op[0]) && is_register(&d->op[1]);
	default:
		return false;
	}
}

/* The result does not depend on the register. */
static bool is_idiom(const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1], *c = &d->op[2];
	bool vex = d->z.operand_count_visible == 3;

	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		return is_register(a) && is_register(b) && a->reg.value == b->reg.value &&
		       a->size >= 32;
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PSUBW:
	case ZYDIS_MNEMONIC_PSUBD:
	case ZYDIS_MNEMONIC_PSUBQ:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PCMPGTW:
	case ZYDIS_MNEMONIC_PCMPGTD:
		return is_register(b) && a->reg.value == b->reg.value;
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VPSUBB:
	case ZYDIS_MNEMONIC_VPSUBW:
	case ZYDIS_MNEMONIC_VPSUBD:
	case ZYDIS_MNEMONIC_VPSUBQ:
		return vex && is_register(b) && is_register(c) && b->reg.value == c->reg.value;
	default:
		return false;
	}
}

/* Becomes all ones; takes a port, but waits for nothing. */
static bool is_ones(const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1], *c = &d->op[2];

	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPEQW:
	case ZYDIS_MNEMONIC_PCMPEQD:
		return is_register(b) && a->reg.value == b->reg.value;
	case ZYDIS_MNEMONIC_VPCMPEQB:
	case ZYDIS_MNEMONIC_VPCMPEQW:
	case ZYDIS_MNEMONIC_VPCMPEQD:
		return is_register(b) && is_register(c) && b->reg.value == c->reg.value;
	default:
		return false;
	}
}

static bool is_fused(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_CMP || m == ZYDIS_MNEMONIC_TEST || m == ZYDIS_MNEMONIC_ADD ||
	       m == ZYDIS_MNEMONIC_SUB || m == ZYDIS_MNEMONIC_AND || m == ZYDIS_MNEMONIC_INC ||
	       m == ZYDIS_MNEMONIC_DEC;
}

/* Registers afterwards, as far as addresses are concerned. */
static void follow_x86(struct operands *o, const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	uint8_t r =
		d->z.operand_count_visible && is_register(a) ? x86_unit(a->reg.value) : UNIT_NONE;
	bool imm = b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (o->memory[0].store && o->memory[0].bytes == 8 && d->z.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    is_register(b))
		o->copies = x86_unit(b->reg.value);
	if (d->z.mnemonic == ZYDIS_MNEMONIC_PUSH || d->z.mnemonic == ZYDIS_MNEMONIC_POP) {
		o->known = o->from = UNIT_STACK;
		o->add = d->z.mnemonic == ZYDIS_MNEMONIC_PUSH ? -8 : 8;
		o->copies = r;
		/* the stack pointer is kept apart from execution: nothing waits for it */
		o->reads &= ~bit(UNIT_STACK);
		o->writes &= ~bit(UNIT_STACK);
		for (int i = 0; i < o->n_memory && o->add < 0; i++)
			if (o->memory[i].store)
				o->memory[i].disp = -8;
		return;
	}
	if (r >= UNIT_CARRY || (a->size != 64 && a->size != 32))
		return;
	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (imm ||
		    (is_register(b) && a->size == 64 && x86_unit(b->reg.value) < UNIT_CARRY)) {
			o->known = r;
			o->from = imm ? UNIT_NONE : x86_unit(b->reg.value);
			o->add = imm ? (int64_t)b->imm.value.s : 0;
		} else if (o->memory[0].load && o->memory[0].bytes == 8) {
			o->copies = r;
		}
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (imm && a->size == 64) {
			o->known = o->from = r;
			o->add = d->z.mnemonic == ZYDIS_MNEMONIC_ADD
					 ? (int64_t)b->imm.value.s
					 : (int64_t)(0 - (uint64_t)b->imm.value.s);
		}
		break;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		if (a->size == 64) {
			o->known = o->from = r;
			o->add = d->z.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		}
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (a->size == 64 && b->mem.index == ZYDIS_REGISTER_NONE &&
		    x86_unit(b->mem.base) < UNIT_CARRY) {
			o->known = r;
			o->from = x86_unit(b->mem.base);
			o->add = b->mem.disp.has_displacement ? b->mem.disp.value : 0;
		}
		break;
	default:
		break;
	}
}

static void leave_or_break(struct operands *o, const struct insn_decoder *d)
{
	switch (d->z.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		o->leaves = true;
		break;
	case ZYDIS_CATEGORY_X87_ALU:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_SEMAPHORE:
		o->breaks = true;
		break;
	default:
		break;
	}
	o->string = d->z.meta.category == ZYDIS_CATEGORY_STRINGOP;
	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_SERIALIZE:
		o->serial = true;
		break;
	default:
		break;
	}
	o->atomic = d->z.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
		    (d->z.mnemonic == ZYDIS_MNEMONIC_XCHG && o->n_memory);
}

void operands_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		     struct operands *o)
{
	bool vector = false;

	*o = (struct operands){ .len = 1,
				.op = OP_OTHER,
				.bad = true,
				.flags = bit(UNIT_CARRY) | bit(UNIT_FLAGS),
				.stepped = UNIT_NONE,
				.known = UNIT_NONE,
				.from = UNIT_NONE,
				.copies = UNIT_NONE };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->d, p, len, &d->z, d->op)))
		return;
	o->bad = false;
	o->len = d->z.length;
	o->flow = x86_flow(&d->z);
	o->direct = d->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	for (int i = 0; i < d->z.operand_count; i++) {
		if (is_register(&d->op[i])) {
			add_register(o, &d->op[i]);
			vector |= zydis_is_vector(d->op[i].reg.value);
		} else if (d->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			add_memory_operand(o, d, &d->op[i], vaddr);
		}
	}
	add_flags(o, d);
	leave_or_break(o, d);
	if (keeps_upper(d))
		o->reads |= bit(x86_unit(d->op[0].reg.value));
	o->op = of_name(d, vector);
	if (o->op == OP_NOP) {
		o->reads = o->writes = o->address = 0;
		o->n_memory = 0;
	}
	o->op = refine_x86(d, o->op, o);
	o->compares = is_fused(d->z.mnemonic) && !(o->n_memory && o->memory[0].store);
	if (is_idiom(d)) {
		o->op = OP_ZERO;
		o->reads = 0;
	} else if (is_ones(d)) {
		o->reads = 0;
	}
	follow_x86(o, d);
}

#else
void operands_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		     struct operands *out)
{
	(void)d, (void)p, (void)len, (void)vaddr;
	*out = (struct operands){ .len = 1, .op = OP_OTHER, .bad = true };
}
#endif
