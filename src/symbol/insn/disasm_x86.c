/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_x86 - x86-64 and i386 through Zydis, in the AT&T syntax of the platform's other tools.
 */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "symbol/insn/decode.h"

#if HAVE_ZYDIS
#include "symbol/insn/insn_decoder_int.h"

/* ---- classes -----------------------------------------------------------------------------------
 *
 * By Zydis' categories, which are those of Intel's XED. If a category has integers and floating
 * point numbers (SSE, AVX, LOGICAL), the elements of the operands decide. */

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

/* Categories of several classes. */
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

/* Classes of instructions on general registers. */
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

static uint8_t x86_class_of(const struct insn *in, const struct seen *s,
			    const ZydisDecodedInstruction *z)
{
	if (in->flow != INSN_OTHER)
		return by_flow[in->flow];
	if (z->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (z->mnemonic == ZYDIS_MNEMONIC_XCHG && in->memory))
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

static void set_x86_class(struct insn *in, const ZydisDecodedInstruction *z,
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

/* ---- text ---------------------------------------------------------------------------------- */

uint8_t x86_flow(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_XABORT: /* outside of a transaction it does nothing */
		return INSN_COND;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return INSN_STOP;
	case ZYDIS_MNEMONIC_HLT: /* until an interrupt */
		return INSN_SYSTEM;
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_BOUND:
		return INSN_OTHER;
	default:
		break;
	}
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return INSN_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return INSN_JUMP;
	case ZYDIS_CATEGORY_CALL:
		return INSN_CALL;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
		return INSN_RETURN;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return INSN_SYSTEM;
	default:
		return INSN_OTHER;
	}
}

static void find_target(struct insn *in, const ZydisDecodedInstruction *z,
			const ZydisDecodedOperand *op)
{
	ZyanU64 abs;

	if (!z->operand_count_visible || op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !op[0].imm.is_relative)
		return;
	if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, &op[0], in->vaddr, &abs))) {
		in->has_target = true;
		in->target = abs;
	}
}

/* Adds the absolute address behind one that is relative to the next instruction. */
static void say_address(struct insn *in, const ZydisDecodedInstruction *z,
			const ZydisDecodedOperand *op)
{
	size_t at = strlen(in->text);
	ZyanU64 abs;

	for (int i = 0; i < z->operand_count_visible; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.base != ZYDIS_REGISTER_RIP ||
		    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, &op[i], in->vaddr, &abs)))
			continue;
		(void)snprintf(in->text + at, sizeof(in->text) - at, "  # 0x%llx",
			       (unsigned long long)abs);
		return;
	}
}

static bool leads_somewhere(const struct insn *in)
{
	return in->flow == INSN_JUMP || in->flow == INSN_COND || in->flow == INSN_CALL;
}

struct decoder {
	ZydisDecoder d;
	ZydisFormatter f;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
};

static bool one_plain(struct decoder *x, const uint8_t *p, size_t len, struct insn *in)
{
	ZydisDecoderContext ctx;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x->d, &ctx, p, len, &x->z)))
		return false;
	in->len = x->z.length;
	in->flow = x86_flow(&x->z);
	if (leads_somewhere(in) && x->z.operand_count_visible &&
	    ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&x->d, &ctx, &x->z, x->op, 1)))
		find_target(in, &x->z, x->op);
	return true;
}

/* Where the text has the operand in memory. */
static void find_x86_memory(struct insn *in, const struct decoder *x)
{
	char operand[sizeof(in->text)];
	const char *at;

	for (int i = 0; in->class != INSN_NOP_CLASS && i < x->z.operand_count_visible; i++) {
		if (x->op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    x->op[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    !ZYAN_SUCCESS(ZydisFormatterFormatOperand(&x->f, &x->z, &x->op[i], operand,
							      sizeof(operand), in->vaddr, NULL)))
			continue;
		at = strstr(in->text, operand);
		if (!at)
			return;
		in->mem_at = (uint8_t)(at - in->text);
		in->mem_len = (uint8_t)strlen(operand);
		return;
	}
}

static bool one_text(struct decoder *x, const uint8_t *p, size_t len, struct insn *in)
{
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x->d, p, len, &x->z, x->op)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&x->f, &x->z, x->op,
							  x->z.operand_count_visible, in->text,
							  sizeof(in->text), in->vaddr, NULL)))
		return false;
	in->len = x->z.length;
	in->flow = x86_flow(&x->z);
	if (leads_somewhere(in))
		find_target(in, &x->z, x->op);
	say_address(in, &x->z, x->op);
	set_x86_class(in, &x->z, x->op);
	find_x86_memory(in, x);
	return true;
}

static bool format(ZydisFormatter *f)
{
	if (!ZYAN_SUCCESS(ZydisFormatterInit(f, ZYDIS_FORMATTER_STYLE_ATT)))
		return false;
	(void)ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	(void)ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
	(void)ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_DISP_PADDING,
					ZYDIS_PADDING_DISABLED);
	(void)ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_PADDING,
					ZYDIS_PADDING_DISABLED);
	(void)ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
					ZYDIS_PADDING_DISABLED);
	return true;
}

static int decode_x86(ZydisMachineMode mode, ZydisStackWidth width, const uint8_t *p, size_t len,
		      uint64_t vaddr, bool text, disasm_each each, void *ctx, struct err *err)
{
	struct decoder x;
	struct insn in;
	int rc = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&x.d, mode, width)) || (text && !format(&x.f)))
		return err_set(err, ERR_UNSUPPORTED, "Zydis does not start");
	in.text[0] = 0;
	for (size_t at = 0; at < len && !rc; at += in.len) {
		memset(&in, 0, offsetof(struct insn, text));
		in.vaddr = vaddr + at;
		if (!(text ? one_text : one_plain)(&x, p + at, len - at, &in))
			disasm_bad(&in, vaddr + at, p + at, 1);
		in.bytes = p + at;
		rc = each(ctx, &in);
	}
	return rc;
}

int disasm_x86_64(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		  void *ctx, struct err *err)
{
	return decode_x86(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, p, len, vaddr, text,
			  each, ctx, err);
}

int disasm_i386(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		void *ctx, struct err *err)
{
	return decode_x86(ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, p, len, vaddr, text,
			  each, ctx, err);
}

#else

static int no_x86_disassembler(struct err *err)
{
	(void)err_set(err, ERR_UNSUPPORTED, "this build has no x86 disassembler");
	return err_hint(err, "build with Zydis (libzydis-dev); annotate --no-asm needs none");
}

int disasm_x86_64(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		  void *ctx, struct err *err)
{
	(void)p, (void)len, (void)vaddr, (void)text, (void)each, (void)ctx;
	return no_x86_disassembler(err);
}

int disasm_i386(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		void *ctx, struct err *err)
{
	(void)p, (void)len, (void)vaddr, (void)text, (void)each, (void)ctx;
	return no_x86_disassembler(err);
}
#endif
