/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes by Zydis' categories, which are those of Intel's XED. Where a category has integers and
 * floating point numbers (SSE, AVX, LOGICAL), the elements of the operands decide.
 */
#include "config.h"
#include "symbol/insn/decode.h"

#if HAVE_ZYDIS
#include <Zydis/Zydis.h>

/* Categories that make the class by themselves. */
static const struct {
	uint16_t category;
	uint8_t class;
} by_category[] = {
	{ ZYDIS_CATEGORY_ADOX_ADCX, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_AES, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_BITBYTE, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_BMI1, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_BMI2, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_CET, INSN_NOP_CLASS },
	{ ZYDIS_CATEGORY_CMOV, INSN_MOVE_CLASS },
	{ ZYDIS_CATEGORY_DECIMAL, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_FCMOV, INSN_FLOAT_CLASS },
	{ ZYDIS_CATEGORY_FLAGOP, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_GFNI, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_IOSTRINGOP, INSN_STRING_CLASS },
	{ ZYDIS_CATEGORY_LZCNT, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_NOP, INSN_NOP_CLASS },
	{ ZYDIS_CATEGORY_PCLMULQDQ, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_POP, INSN_STACK_CLASS },
	{ ZYDIS_CATEGORY_PREFETCH, INSN_PREFETCH_CLASS },
	{ ZYDIS_CATEGORY_PREFETCHWT1, INSN_PREFETCH_CLASS },
	{ ZYDIS_CATEGORY_PUSH, INSN_STACK_CLASS },
	{ ZYDIS_CATEGORY_RDRAND, INSN_SYSTEM_CLASS },
	{ ZYDIS_CATEGORY_RDSEED, INSN_SYSTEM_CLASS },
	{ ZYDIS_CATEGORY_ROTATE, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_SETCC, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_SHA, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_STRINGOP, INSN_STRING_CLASS },
	{ ZYDIS_CATEGORY_TBM, INSN_INTEGER_CLASS },
	{ ZYDIS_CATEGORY_VAES, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_VPCLMULQDQ, INSN_CRYPTO_CLASS },
	{ ZYDIS_CATEGORY_WIDENOP, INSN_NOP_CLASS },
};

/* Of these, several classes. */
static const uint16_t moves[] = {
	ZYDIS_CATEGORY_DATAXFER, ZYDIS_CATEGORY_BLEND,	    ZYDIS_CATEGORY_BROADCAST,
	ZYDIS_CATEGORY_COMPRESS, ZYDIS_CATEGORY_EXPAND,	    ZYDIS_CATEGORY_GATHER,
	ZYDIS_CATEGORY_SCATTER,	 ZYDIS_CATEGORY_AVX2GATHER,
};

static const uint8_t by_flow[] = {
	[INSN_JUMP] = INSN_JUMP_CLASS,	   [INSN_COND] = INSN_BRANCH_CLASS,
	[INSN_CALL] = INSN_CALL_CLASS,	   [INSN_RETURN] = INSN_RETURN_CLASS,
	[INSN_SYSTEM] = INSN_SYSTEM_CLASS, [INSN_STOP] = INSN_SYSTEM_CLASS,
};

/* The kinds of operands. */
struct seen {
	bool vector, x87, number; /* registers of vectors, of x87; elements are floats */
	uint16_t size, element, elements;
};

static bool is_simd_register(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_MASK:
		return true;
	default:
		return false;
	}
}

static bool is_float_element(ZydisElementType t)
{
	return t == ZYDIS_ELEMENT_TYPE_FLOAT16 || t == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
	       t == ZYDIS_ELEMENT_TYPE_FLOAT64 || t == ZYDIS_ELEMENT_TYPE_FLOAT80;
}

static void look_at_operand(struct seen *s, const ZydisDecodedInstruction *z,
			    const ZydisDecodedOperand *op)
{
	*s = (struct seen){ .x87 = z->meta.category == ZYDIS_CATEGORY_X87_ALU };
	for (int i = 0; i < z->operand_count_visible; i++) {
		bool reg = op[i].type == ZYDIS_OPERAND_TYPE_REGISTER;

		if (op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			continue;
		s->vector |= reg && is_simd_register(op[i].reg.value);
		if (op[i].size > s->size)
			s->size = op[i].size;
		if (!is_float_element(op[i].element_type))
			continue;
		s->number = true;
		s->element = op[i].element_size;
		/* of vmulsd the register that high bits come from is whole; one number in memory
		 * may be broadcast */
		if ((!s->elements || op[i].element_count < s->elements) &&
		    (reg || !z->avx.broadcast.mode))
			s->elements = op[i].element_count;
	}
}

static bool is_move(const ZydisDecodedInstruction *z)
{
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (moves[i] == z->meta.category)
			return true;
	return false;
}

static uint8_t of_vector(const struct seen *s, const ZydisDecodedInstruction *z)
{
	if (z->meta.category == ZYDIS_CATEGORY_CONVERT)
		return INSN_CONVERT_CLASS;
	if (is_move(z))
		return INSN_VECTOR_MOVE_CLASS;
	if (z->meta.category == ZYDIS_CATEGORY_LOGICAL_FP)
		return INSN_VECTOR_FLOAT_CLASS;
	if (!s->number)
		return INSN_VECTOR_INTEGER_CLASS;
	return s->elements > 1 ? INSN_VECTOR_FLOAT_CLASS : INSN_FLOAT_CLASS;
}

/* Of general registers. */
static uint8_t of_mnemonic(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MULX:
		return INSN_MULTIPLY_CLASS;
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return INSN_DIVIDE_CLASS;
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_ENTER:
		return INSN_STACK_CLASS;
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_CRC32:
	case ZYDIS_MNEMONIC_POPCNT:
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_XADD:
		return INSN_INTEGER_CLASS;
	case ZYDIS_MNEMONIC_VZEROUPPER:
	case ZYDIS_MNEMONIC_VZEROALL:
		return INSN_VECTOR_MOVE_CLASS;
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
	case ZYDIS_MNEMONIC_STMXCSR:
	case ZYDIS_MNEMONIC_VSTMXCSR:
		return INSN_SYSTEM_CLASS;
	default:
		break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_SHIFT:
		return INSN_INTEGER_CLASS;
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_MISC:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_RDPID:
	case ZYDIS_CATEGORY_RDPRU:
	case ZYDIS_CATEGORY_SMAP:
	case ZYDIS_CATEGORY_PKU:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_COND_BR: /* of a transaction: no branch */
		return INSN_SYSTEM_CLASS;
	default:
		return is_move(z) ? INSN_MOVE_CLASS : INSN_OTHER_CLASS;
	}
}

static bool is_atomic(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return z->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	       (z->mnemonic == ZYDIS_MNEMONIC_XCHG && in->memory);
}

static uint8_t x86_class_of(const struct insn *in, const struct seen *s,
			    const ZydisDecodedInstruction *z)
{
	if (in->flow != INSN_OTHER)
		return by_flow[in->flow];
	if (is_atomic(z, in))
		return INSN_ATOMIC_CLASS;
	for (size_t i = 0; i < sizeof(by_category) / sizeof(*by_category); i++)
		if (by_category[i].category == z->meta.category)
			return by_category[i].class;
	if (s->x87)
		return INSN_FLOAT_CLASS;
	return s->vector ? of_vector(s, z) : of_mnemonic(z);
}

static void find_accesses(struct insn *in, const ZydisDecodedInstruction *z,
			  const ZydisDecodedOperand *op)
{
	for (int i = 0; i < z->operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			in->memory |= INSN_READS;
		if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			in->memory |= INSN_WRITES;
		if (op[i].size / 8 > in->access)
			in->access = op[i].size / 8;
	}
}

static uint16_t x86_width_of(const struct insn *in, const struct seen *s,
			     const ZydisDecodedInstruction *z)
{
	switch (in->class) {
	case INSN_FLOAT_CLASS:
	case INSN_CONVERT_CLASS:
		return s->element;
	case INSN_BRANCH_CLASS:
	case INSN_JUMP_CLASS:
	case INSN_CALL_CLASS:
	case INSN_RETURN_CLASS:
	case INSN_NOP_CLASS:
	case INSN_PREFETCH_CLASS:
	case INSN_SYSTEM_CLASS:
	case INSN_OTHER_CLASS:
		return 0;
	default:
		return s->vector ? s->size : z->operand_width;
	}
}

void disasm_x86_class(struct insn *in, const ZydisDecodedInstruction *z,
		      const ZydisDecodedOperand *op)
{
	struct seen s;

	look_at_operand(&s, z, op);
	find_accesses(in, z, op);
	in->class = x86_class_of(in, &s, z);
	/* neither reads its operand */
	if (in->class == INSN_NOP_CLASS || in->class == INSN_PREFETCH_CLASS) {
		in->memory = 0;
		in->access = 0;
	}
	in->width = x86_width_of(in, &s, z);
}

#endif
