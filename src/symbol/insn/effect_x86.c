/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * effect_x86 - x86-64 through Zydis.
 */
#include "symbol/insn/effect.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "symbol/disasm.h"

static const struct effect_machine x86 = {
	.regs = 16,
	.sp = EFFECT_RSP,
	.result = EFFECT_RAX,
	.memory_result = EFFECT_RDI,
	.memory_result_is_back = true,
	.entry = -8,
	.arguments = 6,
	.argument = { 5, 4, 1, 2, 8, 9 }, /* rdi rsi rdx rcx r8 r9 */
	.clobbers = 0x0f37,		  /* rax rdx rcx rsi rdi r8-r11 */
	.thread = -1,
};
static const struct effect_machine arm64 = {
	.regs = 32,
	.sp = 31,
	.result = 0,
	.memory_result = 8,
	.arguments = 8,
	.argument = { 0, 1, 2, 3, 4, 5, 6, 7 },
	.clobbers = 0x4007ffff, /* x0-x18, x30 */
	.thread = 1,
};

const struct effect_machine *effect_machine(unsigned machine)
{
	if (machine == EM_AARCH64)
		return &arm64;
	return machine == EM_X86_64 && HAVE_ZYDIS ? &x86 : NULL;
}

#if HAVE_ZYDIS
#include "symbol/insn/insn_decoder_int.h"

/* The DWARF number of the general register that it is a part of. */
static uint8_t dwarf_register(ZydisRegister r)
{
	static const uint8_t dwarf[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
	int id = zydis_general(r);

	return id >= 0 ? dwarf[id] : EFFECT_NONE;
}

static void add_effect_memory(struct effect *e, const ZydisDecodedInstruction *z,
			      const ZydisDecodedOperand *op)
{
	struct effect_mem *m = &e->mem[e->n_mem];
	ZyanU64 at;

	if (e->n_mem == 2 || op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
		return;
	*m = (struct effect_mem){
		.base = dwarf_register(op->mem.base),
		.index = dwarf_register(op->mem.index),
		.width = (uint8_t)(op->size / 8 < 255 ? op->size / 8 : 255),
		.indexed = op->mem.index != ZYDIS_REGISTER_NONE,
		.plain_index = op->mem.index != ZYDIS_REGISTER_NONE && op->mem.scale <= 1,
		.load = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
		.store = (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
		.segment = op->mem.segment == ZYDIS_REGISTER_FS ||
			   op->mem.segment == ZYDIS_REGISTER_GS,
		.implicit = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
			    dwarf_register(op->mem.base) == EFFECT_RSP,
		.disp = op->mem.disp.has_displacement ? op->mem.disp.value : 0,
	};
	if (op->mem.base == ZYDIS_REGISTER_RIP &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, op, e->vaddr, &at))) {
		m->absolute = true;
		m->disp = (int64_t)at;
	} else if (op->mem.base == ZYDIS_REGISTER_NONE) {
		m->absolute = true;
	}
	e->n_mem++;
}

static void add_operands(struct effect *e, const struct insn_decoder *d)
{
	bool vector = false;

	for (int i = 0; i < d->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &d->op[i];
		uint8_t r = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? dwarf_register(op->reg.value)
								    : EFFECT_NONE;

		if (r != EFFECT_NONE && op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			e->writes |= UINT32_C(1) << r;
		vector |= op->type == ZYDIS_OPERAND_TYPE_REGISTER && zydis_is_vector(op->reg.value);
		/* an operand of lea is not accessed */
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		     op->actions &
			     (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE)))
			add_effect_memory(e, &d->z, op);
	}
	for (unsigned i = 0; i < e->n_mem; i++)
		e->mem[i].vector = vector;
}

static void set_compare(struct effect *e, const struct insn_decoder *d)
{
	unsigned bits = d->op[0].size;

	e->op = EFFECT_COMPARE;
	e->imm = d->op[1].imm.value.s;
	if (bits < 64) /* it was widened with its sign */
		e->imm &= (INT64_C(1) << bits) - 1;
}

/* op[0] and op[1]; the first is a register. */
static void op_to_register(struct effect *e, const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	bool wide = a->size == 64, reg = b->type == ZYDIS_OPERAND_TYPE_REGISTER;
	bool imm = b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE, half = a->size == 32;

	e->dst = dwarf_register(a->reg.value);
	e->src = reg ? dwarf_register(b->reg.value) : EFFECT_NONE;
	e->src2 = e->dst;
	e->imm = imm ? (int64_t)b->imm.value.s : 0;
	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (imm && (wide || half))
			e->op = EFFECT_SET;
		if (imm && half)
			e->imm = (int64_t)(uint32_t)e->imm;
		if (reg && wide)
			e->op = EFFECT_COPY;
		if (b->type == ZYDIS_OPERAND_TYPE_MEMORY && wide)
			e->op = EFFECT_LOAD;
		/* at the thread's pointer there is that pointer */
		if (e->op == EFFECT_LOAD && e->n_mem && e->mem[0].segment && e->mem[0].absolute &&
		    !e->mem[0].indexed && !e->mem[0].disp)
			e->op = EFFECT_THREAD;
		break;
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		if (reg && e->src == e->dst && (wide || half)) {
			e->op = EFFECT_SET;
			e->imm = 0;
		} else if (wide && d->z.mnemonic == ZYDIS_MNEMONIC_SUB) {
			e->op = imm ? EFFECT_ADD : EFFECT_ADD_ANY;
			e->imm = imm ? (int64_t)(0 - (uint64_t)e->imm) : 0;
		}
		break;
	case ZYDIS_MNEMONIC_ADD:
		if (wide)
			e->op = imm ? EFFECT_ADD : reg ? EFFECT_ADD_REG : EFFECT_ADD_LOAD;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (wide)
			e->op = EFFECT_LEA;
		break;
	case ZYDIS_MNEMONIC_CMP:
		if (imm)
			set_compare(e, d);
		break;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		e->imm = d->z.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		if (wide)
			e->op = EFFECT_ADD;
		break;
	default:
		if (d->z.meta.category == ZYDIS_CATEGORY_CMOV && wide && reg)
			e->op = EFFECT_CHOOSE;
		break;
	}
	if (e->dst == EFFECT_NONE || (e->op == EFFECT_COPY && e->src == EFFECT_NONE))
		e->op = EFFECT_OTHER;
}

static void set_x86_effect(struct effect *e, const struct insn_decoder *d)
{
	const ZydisDecodedOperand *a = &d->op[0];
	uint8_t r = d->z.operand_count_visible && a->type == ZYDIS_OPERAND_TYPE_REGISTER
			    ? dwarf_register(a->reg.value)
			    : EFFECT_NONE;

	if (d->z.mnemonic == ZYDIS_MNEMONIC_PUSH) {
		e->op = EFFECT_PUSH;
		e->src = r;
	} else if (d->z.mnemonic == ZYDIS_MNEMONIC_POP) {
		e->op = EFFECT_POP;
		e->dst = r;
	} else if (d->z.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		e->op = EFFECT_LEAVE;
	} else if (r != EFFECT_NONE) {
		op_to_register(e, d);
	} else if (d->z.mnemonic == ZYDIS_MNEMONIC_MOV && a->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		   a->size == 64 && d->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		e->op = EFFECT_STORE;
		e->src = dwarf_register(d->op[1].reg.value);
	} else if (d->z.mnemonic == ZYDIS_MNEMONIC_CMP && a->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		   d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		set_compare(e, d);
	}
	/* a register exchanged with itself, too */
	if (d->z.mnemonic == ZYDIS_MNEMONIC_NOP ||
	    (d->z.mnemonic == ZYDIS_MNEMONIC_XCHG && d->op[1].type == a->type &&
	     a->type == ZYDIS_OPERAND_TYPE_REGISTER && a->reg.value == d->op[1].reg.value))
		e->op = EFFECT_NOP;
	if (d->z.mnemonic == ZYDIS_MNEMONIC_LEA || d->z.mnemonic == ZYDIS_MNEMONIC_NOP)
		e->n_mem = 0; /* mem[0] stays, for EFFECT_LEA */
}

void effect_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		   struct effect *e)
{
	ZyanU64 to;

	*e = (struct effect){ .vaddr = vaddr,
			      .len = 1,
			      .dst = EFFECT_NONE,
			      .src = EFFECT_NONE,
			      .src2 = EFFECT_NONE,
			      .step = EFFECT_NONE };
	if (!d) {
		effect_arm64(p, len, vaddr, e);
		return;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->d, p, len, &d->z, d->op)))
		return;
	e->len = d->z.length;
	e->flow = x86_flow(&d->z);
	add_operands(e, d);
	set_x86_effect(e, d);
	if ((e->flow == INSN_JUMP || e->flow == INSN_COND || e->flow == INSN_CALL) &&
	    d->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->op[0].imm.is_relative &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->z, &d->op[0], vaddr, &to))) {
		e->has_target = true;
		e->target = to;
	}
}

#else
void effect_decode(struct insn_decoder *d, const uint8_t *p, size_t len, uint64_t vaddr,
		   struct effect *e)
{
	(void)d;
	effect_arm64(p, len, vaddr, e);
}
#endif
