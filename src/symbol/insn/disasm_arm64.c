/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_arm64 - AArch64 through Capstone.
 *
 * Where instructions lead is read from their words, which takes no library, and is the same for
 * text and for code that is only taken apart. The library is loaded at the first need: its tables
 * for all the machines it knows have 77,000 places that the loader must write to, two thirds of the
 * cost of starting this program.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/library.h"
#include "config.h"
#include "symbol/insn/decode.h"

#if HAVE_CAPSTONE
#include <capstone/capstone.h>

#define TEXT(n)	 TEXT_(n)
#define TEXT_(n) #n

#define CALLS(CALL)            \
	CALL(cs_, open)        \
	CALL(cs_, malloc)      \
	CALL(cs_, disasm_iter) \
	CALL(cs_, free)        \
	CALL(cs_, close)

static struct {
	CALLS(LIBRARY_POINTER)
} cs;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library = LIBRARY(
	"AArch64 disassembly", "libcapstone.so." TEXT(CS_API_MAJOR), names, cs,
	"install Capstone (libcapstone" TEXT(CS_API_MAJOR) "); annotate --no-asm needs none");

static void fill_a64_insn(struct insn *in, const cs_insn *c)
{
	memset(in, 0, sizeof(*in));
	in->vaddr = c->address;
	in->len = (uint8_t)c->size;
	(void)snprintf(in->text, sizeof(in->text), "%.20s%s%.80s", c->mnemonic,
		       *c->op_str ? " " : "", c->op_str);
	disasm_a64_flow(ld32(c->bytes), in);
	disasm_a64_class(in);
}

static int decode_text(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		       struct err *err)
{
	const uint8_t *code = p;
	uint64_t at = vaddr;
	cs_insn *c = NULL;
	size_t left = len;
	int rc = 0;
	csh h;

	if (library_open(&library, err))
		return -1;
	if (cs.open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &h))
		return err_set(err, ERR_UNSUPPORTED, "Capstone has no AArch64");
	c = cs.malloc(h);
	if (!c)
		rc = err_nomem(err);
	while (left && !rc) {
		struct insn in;

		if (cs.disasm_iter(h, &code, &left, &at, c)) {
			fill_a64_insn(&in, c);
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
	return rc;
}

#else

static int decode_text(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		       struct err *err)
{
	(void)p, (void)len, (void)vaddr, (void)each, (void)ctx;
	(void)err_set(err, ERR_UNSUPPORTED, "this build has no AArch64 disassembler");
	return err_hint(err, "build with Capstone (libcapstone-dev); annotate --no-asm needs none");
}
#endif

/* ---- without text: the few instructions that lead elsewhere are told by their words ------- */

struct pattern {
	uint32_t mask, word;
	uint8_t flow;
	uint8_t lsb, bits; /* of the distance, in words; 0 bits: it leads where a register says */
};

/* The first that fits. Arm ARM (DDI 0487), C4.1.65: branches, exceptions, system. */
static const struct pattern patterns[] = {
	{ 0xfc000000, 0x14000000, INSN_JUMP, 0, 26 },  /* b */
	{ 0xfc000000, 0x94000000, INSN_CALL, 0, 26 },  /* bl */
	{ 0xff00000e, 0x5400000e, INSN_JUMP, 5, 19 },  /* b.al, b.nv */
	{ 0xff000000, 0x54000000, INSN_COND, 5, 19 },  /* b.cond, bc.cond */
	{ 0x7e000000, 0x34000000, INSN_COND, 5, 19 },  /* cbz, cbnz */
	{ 0x7e000000, 0x36000000, INSN_COND, 5, 14 },  /* tbz, tbnz */
	{ 0x7e000000, 0x74000000, INSN_COND, 5, 9 },   /* cb<cc> */
	{ 0xffc0001f, 0x5500001f, INSN_RETURN, 0, 0 }, /* retaasppc, retabsppc with a label */
	{ 0xfefff000, 0xd61f0000, INSN_JUMP, 0, 0 },   /* br, braa, brab and their kin */
	{ 0xfefff000, 0xd63f0000, INSN_CALL, 0, 0 },   /* blr, ... */
	{ 0xfffff000, 0xd65f0000, INSN_RETURN, 0, 0 }, /* ret, retaa, retab, ... */
	{ 0xfffff000, 0xd69f0000, INSN_RETURN, 0, 0 }, /* eret, ... */
	{ 0xfffff000, 0xd6bf0000, INSN_RETURN, 0, 0 }, /* drps */
	{ 0xffe0001c, 0xd4000000, INSN_SYSTEM, 0, 0 }, /* svc, hvc, smc */
	{ 0xffe0001f, 0xd4200000, INSN_STOP, 0, 0 },   /* brk */
	{ 0xffe0001f, 0xd4400000, INSN_SYSTEM, 0, 0 }, /* hlt: a debugger's */
	{ 0xffff0000, 0x00000000, INSN_STOP, 0, 0 },   /* udf */
};

void disasm_a64_flow(uint32_t word, struct insn *in)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct pattern *t = &patterns[i];
		uint64_t sign, words;

		if ((word & t->mask) != t->word)
			continue;
		in->flow = t->flow;
		if (!t->bits)
			return;
		sign = 1ULL << (t->bits - 1);
		words = word >> t->lsb & (2 * sign - 1);
		in->has_target = true;
		in->target = in->vaddr + ((words ^ sign) - sign) * 4;
		return;
	}
}

static int decode_plain(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx)
{
	struct insn in;
	int rc = 0;

	in.text[0] = 0;
	for (size_t at = 0; at < len && !rc; at += in.len) {
		memset(&in, 0, offsetof(struct insn, text));
		in.vaddr = vaddr + at;
		in.len = 4;
		if (len - at >= 4)
			disasm_a64_flow(ld32(p + at), &in);
		else
			disasm_bad(&in, vaddr + at, p + at, (uint8_t)(len - at));
		in.bytes = p + at;
		rc = each(ctx, &in);
	}
	return rc;
}

int disasm_aarch64(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		   void *ctx, struct err *err)
{
	return text ? decode_text(p, len, vaddr, each, ctx, err)
		    : decode_plain(p, len, vaddr, each, ctx);
}
