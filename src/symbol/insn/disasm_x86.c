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

/* An address relative to the next instruction says little: the absolute one behind it. */
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
	disasm_x86_class(in, &x->z, x->op);
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
