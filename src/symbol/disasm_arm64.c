/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_arm64 - AArch64 through Capstone.
 */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "symbol/disasm_int.h"

#if HAVE_CAPSTONE
#include <capstone/capstone.h>

static enum insn_flow flow_of(const cs_insn *c)
{
	switch (c->id) {
	case ARM64_INS_B:
		return c->detail->arm64.cc == ARM64_CC_INVALID || c->detail->arm64.cc == ARM64_CC_AL
			       ? INSN_JUMP
			       : INSN_COND;
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		return INSN_COND;
	case ARM64_INS_BR:
		return INSN_JUMP;
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		return INSN_CALL;
	case ARM64_INS_RET:
		return INSN_RETURN;
	default:
		return INSN_OTHER;
	}
}

static void fill(struct insn *in, const cs_insn *c)
{
	const cs_arm64 *a = &c->detail->arm64;

	memset(in, 0, sizeof(*in));
	in->vaddr = c->address;
	in->len = (uint8_t)c->size;
	in->flow = (uint8_t)flow_of(c);
	(void)snprintf(in->text, sizeof(in->text), "%.20s%s%.80s", c->mnemonic,
		       *c->op_str ? " " : "", c->op_str);
	if (in->flow != INSN_OTHER && in->flow != INSN_RETURN && a->op_count &&
	    a->operands[a->op_count - 1].type == ARM64_OP_IMM) {
		in->has_target = true;
		in->target = (uint64_t)a->operands[a->op_count - 1].imm;
	}
}

int disasm_aarch64(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		   struct err *err)
{
	const uint8_t *code = p;
	uint64_t at = vaddr;
	cs_insn *c = NULL;
	size_t left = len;
	int rc = 0;
	csh h;

	if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &h))
		return err_set(err, ERR_UNSUPPORTED, "Capstone has no AArch64");
	(void)cs_option(h, CS_OPT_DETAIL, CS_OPT_ON);
	c = cs_malloc(h);
	if (!c)
		rc = err_nomem(err);
	while (left && !rc) {
		struct insn in;

		if (cs_disasm_iter(h, &code, &left, &at, c)) {
			fill(&in, c);
		} else {
			disasm_bad(&in, at, code, left < 4 ? (uint8_t)left : 4);
			code += in.len;
			left -= in.len;
			at += in.len;
		}
		in.bytes = p + (in.vaddr - vaddr);
		rc = each(ctx, &in);
	}
	if (c)
		cs_free(c, 1);
	(void)cs_close(&h);
	return rc;
}

#else

int disasm_aarch64(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		   struct err *err)
{
	(void)p, (void)len, (void)vaddr, (void)each, (void)ctx;
	(void)err_set(err, ERR_UNSUPPORTED, "this build has no AArch64 disassembler");
	return err_hint(err, "build with Capstone (libcapstone-dev); source lines need none: "
			     "--no-asm");
}
#endif
