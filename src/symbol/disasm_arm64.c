/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_arm64 - AArch64 through Capstone.
 *
 * The library is loaded at the first need: its tables for all the machines it knows have 77,000
 * places that the loader must write to, two thirds of what starting this program would cost.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "symbol/disasm_int.h"

#if HAVE_CAPSTONE
#include <capstone/capstone.h>

#define NAME_OF(major)	"libcapstone.so." NAME_OF_(major)
#define NAME_OF_(major) #major

/* The calls that are used, by the types of the header. */
struct capstone {
	void *lib;
	__typeof__(&cs_open) open;
	__typeof__(&cs_option) option;
	__typeof__(&cs_malloc) malloc;
	__typeof__(&cs_disasm_iter) disasm_iter;
	__typeof__(&cs_free) free;
	__typeof__(&cs_close) close;
};

static bool find(void *lib, const char *name, void *call, size_t size)
{
	void *p = dlsym(lib, name);

	/* ISO C has no way from an object's pointer to a function's, POSIX has this one */
	memcpy(call, &p, size);
	return p != NULL;
}

#define FIND(call) find(cs->lib, "cs_" #call, &cs->call, sizeof(cs->call))

/* Once loaded it stays: the next function comes soon. */
static int load(struct capstone *cs, struct err *err)
{
	cs->lib = dlopen(NAME_OF(CS_API_MAJOR), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (cs->lib && FIND(open) && FIND(option) && FIND(malloc) && FIND(disasm_iter) &&
	    FIND(free) && FIND(close))
		return 0;
	if (cs->lib)
		(void)dlclose(cs->lib);
	(void)err_set(err, ERR_UNSUPPORTED, "%s cannot be loaded, which decodes AArch64",
		      NAME_OF(CS_API_MAJOR));
	return err_hint(err, "install Capstone (libcapstone%d); source lines need none: --no-asm",
			CS_API_MAJOR);
}

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
	struct capstone cs = { 0 };
	cs_insn *c = NULL;
	size_t left = len;
	int rc = 0;
	csh h;

	if (load(&cs, err))
		return -1;
	if (cs.open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &h)) {
		(void)dlclose(cs.lib);
		return err_set(err, ERR_UNSUPPORTED, "Capstone has no AArch64");
	}
	(void)cs.option(h, CS_OPT_DETAIL, CS_OPT_ON);
	c = cs.malloc(h);
	if (!c)
		rc = err_nomem(err);
	while (left && !rc) {
		struct insn in;

		if (cs.disasm_iter(h, &code, &left, &at, c)) {
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
		cs.free(c, 1);
	(void)cs.close(&h);
	(void)dlclose(cs.lib);
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
