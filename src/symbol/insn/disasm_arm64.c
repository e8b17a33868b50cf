/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_arm64 - AArch64 through Capstone.
 *
 * Where instructions lead is read from their words, which takes no library, and is the same for
 * text and for code that is only taken apart. The library is loaded at the first need: its tables
 * for all the machines it knows have 77,000 places that the loader must write to, two thirds of the
 * cost of starting this program.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/library.h"
#include "config.h"
#include "symbol/insn/decode.h"

#if HAVE_CAPSTONE
#include <capstone/capstone.h>

/* ---- classes -----------------------------------------------------------------------------------
 *
 * By mnemonic, the first row that fits. Registers of operands show whether it is an instruction of
 * vectors, and its width. */

/* A mnemonic, or its beginning where it ends with a star. */
struct word {
	const char *mnemonic;
	uint8_t class;
};

/* Whatever their registers are. */
static const struct word any[] = {
	{ "nop", INSN_NOP_CLASS },	   { "bti*", INSN_NOP_CLASS },
	{ "hint", INSN_NOP_CLASS },	   { "prf*", INSN_PREFETCH_CLASS },
	{ "cas*", INSN_ATOMIC_CLASS },	   { "swp*", INSN_ATOMIC_CLASS },
	{ "ldadd*", INSN_ATOMIC_CLASS },   { "ldclr*", INSN_ATOMIC_CLASS },
	{ "ldeor*", INSN_ATOMIC_CLASS },   { "ldset*", INSN_ATOMIC_CLASS },
	{ "ldsmax*", INSN_ATOMIC_CLASS },  { "ldsmin*", INSN_ATOMIC_CLASS },
	{ "ldumax*", INSN_ATOMIC_CLASS },  { "ldumin*", INSN_ATOMIC_CLASS },
	{ "stadd*", INSN_ATOMIC_CLASS },   { "stclr*", INSN_ATOMIC_CLASS },
	{ "steor*", INSN_ATOMIC_CLASS },   { "stset*", INSN_ATOMIC_CLASS },
	{ "stsmax*", INSN_ATOMIC_CLASS },  { "stsmin*", INSN_ATOMIC_CLASS },
	{ "stumax*", INSN_ATOMIC_CLASS },  { "stumin*", INSN_ATOMIC_CLASS },
	{ "ldxr*", INSN_ATOMIC_CLASS },	   { "ldxp", INSN_ATOMIC_CLASS },
	{ "ldaxr*", INSN_ATOMIC_CLASS },   { "ldaxp", INSN_ATOMIC_CLASS },
	{ "stxr*", INSN_ATOMIC_CLASS },	   { "stxp", INSN_ATOMIC_CLASS },
	{ "stlxr*", INSN_ATOMIC_CLASS },   { "stlxp", INSN_ATOMIC_CLASS },
	{ "aes*", INSN_CRYPTO_CLASS },	   { "sha1*", INSN_CRYPTO_CLASS },
	{ "sha256*", INSN_CRYPTO_CLASS },  { "sha512*", INSN_CRYPTO_CLASS },
	{ "sm3*", INSN_CRYPTO_CLASS },	   { "sm4*", INSN_CRYPTO_CLASS },
	{ "pmull*", INSN_CRYPTO_CLASS },   { "fcvt*", INSN_CONVERT_CLASS },
	{ "fjcvtzs", INSN_CONVERT_CLASS }, { "scvtf", INSN_CONVERT_CLASS },
	{ "ucvtf", INSN_CONVERT_CLASS },   { "bfcvt*", INSN_CONVERT_CLASS },
	{ "mrs", INSN_SYSTEM_CLASS },	   { "msr", INSN_SYSTEM_CLASS },
	{ "dmb", INSN_SYSTEM_CLASS },	   { "dsb", INSN_SYSTEM_CLASS },
	{ "isb", INSN_SYSTEM_CLASS },	   { "sb", INSN_SYSTEM_CLASS },
	{ "sys*", INSN_SYSTEM_CLASS },	   { "dc", INSN_SYSTEM_CLASS },
	{ "ic", INSN_SYSTEM_CLASS },	   { "at", INSN_SYSTEM_CLASS },
	{ "tlbi", INSN_SYSTEM_CLASS },	   { "yield", INSN_SYSTEM_CLASS },
	{ "wf*", INSN_SYSTEM_CLASS },	   { "sev*", INSN_SYSTEM_CLASS },
	{ "clrex", INSN_SYSTEM_CLASS },
};

/* Instructions on registers of vectors and floats. */
static const struct word vectors[] = {
	{ "ld*", INSN_VECTOR_MOVE_CLASS },  { "st*", INSN_VECTOR_MOVE_CLASS },
	{ "fmov", INSN_VECTOR_MOVE_CLASS }, { "mov*", INSN_VECTOR_MOVE_CLASS },
	{ "mvn*", INSN_VECTOR_MOVE_CLASS }, { "dup", INSN_VECTOR_MOVE_CLASS },
	{ "ins", INSN_VECTOR_MOVE_CLASS },  { "umov", INSN_VECTOR_MOVE_CLASS },
	{ "smov", INSN_VECTOR_MOVE_CLASS }, { "f*", INSN_FLOAT_CLASS },
	{ "*", INSN_VECTOR_INTEGER_CLASS },
};

static const struct word general[] = {
	{ "ld*", INSN_MOVE_CLASS },	   { "st*", INSN_MOVE_CLASS },
	{ "mov*", INSN_MOVE_CLASS },	   { "csel", INSN_MOVE_CLASS },
	{ "mul", INSN_MULTIPLY_CLASS },	   { "mneg", INSN_MULTIPLY_CLASS },
	{ "madd", INSN_MULTIPLY_CLASS },   { "msub", INSN_MULTIPLY_CLASS },
	{ "smul*", INSN_MULTIPLY_CLASS },  { "umul*", INSN_MULTIPLY_CLASS },
	{ "smadd*", INSN_MULTIPLY_CLASS }, { "umadd*", INSN_MULTIPLY_CLASS },
	{ "smsub*", INSN_MULTIPLY_CLASS }, { "umsub*", INSN_MULTIPLY_CLASS },
	{ "smneg*", INSN_MULTIPLY_CLASS }, { "umneg*", INSN_MULTIPLY_CLASS },
	{ "sdiv", INSN_DIVIDE_CLASS },	   { "udiv", INSN_DIVIDE_CLASS },
	{ "*", INSN_INTEGER_CLASS }, /* orr is a copy if it has the register of 0 */
};

static const uint8_t by_flow[] = {
	[INSN_JUMP] = INSN_JUMP_CLASS,	   [INSN_COND] = INSN_BRANCH_CLASS,
	[INSN_CALL] = INSN_CALL_CLASS,	   [INSN_RETURN] = INSN_RETURN_CLASS,
	[INSN_SYSTEM] = INSN_SYSTEM_CLASS, [INSN_STOP] = INSN_SYSTEM_CLASS,
};

/* OTHER: no row fits. */
static uint8_t find_a64_word(const struct word *w, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		size_t m = strcspn(w[i].mnemonic, "*");

		if (m <= len && !strncmp(w[i].mnemonic, text, m) && (m == len || w[i].mnemonic[m]))
			return w[i].class;
	}
	return INSN_OTHER_CLASS;
}
#define LOOK_UP(words, text, len) find_a64_word(words, sizeof(words) / sizeof(*(words)), text, len)

/* Bits of a register by its name ("x1", "v2.16b", "q3"); 0: it is none. */
static uint16_t a64_register_bits(const char *reg, bool *vector)
{
	static const struct {
		char letter;
		uint16_t bits;
		bool vector;
	} rows[] = { { 'w', 32, false }, { 'x', 64, false }, { 'b', 8, true },	{ 'h', 16, true },
		     { 's', 32, true },	 { 'd', 64, true },  { 'q', 128, true } };

	*vector = false;
	if (!strncmp(reg, "sp", 2) || !strncmp(reg, "xzr", 3))
		return 64;
	if (!strncmp(reg, "wzr", 3) || !strncmp(reg, "wsp", 3))
		return 32;
	if (!isdigit((unsigned char)reg[0] ? reg[1] : 0))
		return 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].letter == reg[0]) {
			*vector = rows[i].vector;
			return rows[i].bits;
		}
	*vector = reg[0] == 'v' || reg[0] == 'z';
	if (reg[0] != 'v')
		return 0; /* z: as wide as the machine makes it */
	reg += strcspn(reg, ".,");
	return !strncmp(reg, ".8b", 3) || !strncmp(reg, ".4h", 3) || !strncmp(reg, ".2s", 3) ||
			       !strncmp(reg, ".1d", 3)
		       ? 64
		       : 128;
}

/* Bytes that a load or store of registers so wide accesses; 0: not fixed here. */
static uint16_t a64_access_bytes(const char *text, size_t len, uint16_t width)
{
	bool pair = len >= 3 && text[len - 1] == 'p';

	if (strchr("1234", text[2])) /* structures: as many as there are registers */
		return 0;
	if (!strncmp(text, "ldrsw", 5) || !strncmp(text, "ldursw", 6) ||
	    !strncmp(text, "ldapursw", 8))
		return 4;
	if (!strncmp(text, "ldpsw", 5))
		return 8;
	if (text[len - 1] == 'b')
		return 1;
	if (text[len - 1] == 'h')
		return 2;
	return (uint16_t)(width / 8 * (pair ? 2 : 1));
}

static void find_a64_memory(struct insn *in, size_t len)
{
	const char *at = strchr(in->text, '['), *end = at ? strchr(at, ']') : NULL;
	bool load = !strncmp(in->text, "ld", 2), store = !strncmp(in->text, "st", 2);

	/* "v0.s[1]" is a lane */
	if (!at || !end || (at > in->text && at[-1] != ' '))
		return;
	in->mem_at = (uint8_t)(at - in->text);
	in->mem_len = (uint8_t)(strlen(in->text) - in->mem_at);
	if (in->class == INSN_PREFETCH_CLASS)
		return;
	in->memory = (uint8_t)((load ? INSN_READS : 0) | (store ? INSN_WRITES : 0));
	/* exclusive ones do one or the other, all other atomic ones both */
	if (in->class == INSN_ATOMIC_CLASS && !memchr(in->text, 'x', len))
		in->memory = INSN_READS | INSN_WRITES;
	if (!strncmp(in->text, "ldsmax", 6) || !strncmp(in->text, "ldumax", 6) ||
	    !strncmp(in->text, "stsmax", 6) || !strncmp(in->text, "stumax", 6))
		in->memory = INSN_READS | INSN_WRITES;
	if (in->memory)
		in->access = a64_access_bytes(in->text, len, in->width);
}

static void set_a64_class(struct insn *in)
{
	size_t len = strcspn(in->text, " ");
	const char *first = in->text + len + (in->text[len] == ' ');
	bool vector, other = false;
	uint16_t width;

	first += *first == '{';
	/* the first one of a conditional store is its status */
	if (!strncmp(in->text, "stxr", 4) || !strncmp(in->text, "stlxr", 5) ||
	    !strncmp(in->text, "stxp", 4) || !strncmp(in->text, "stlxp", 5))
		first += strcspn(first, " ") + (strchr(first, ' ') != NULL);
	width = a64_register_bits(first, &vector);
	/* fcmp d0, ...; umov w0, v1.s[0]: the second one decides */
	if (!vector && strchr(first, ' '))
		(void)a64_register_bits(strchr(first, ' ') + 1, &other);
	if (in->flow != INSN_OTHER) {
		in->class = by_flow[in->flow];
		return;
	}
	in->class = LOOK_UP(any, in->text, len);
	if (in->class == INSN_OTHER_CLASS)
		in->class = vector || other ? LOOK_UP(vectors, in->text, len)
					    : LOOK_UP(general, in->text, len);
	if (!strncmp(in->text, "orr ", 4) && strchr(first, ' ') &&
	    !strncmp(strchr(first, ' ') + 2, "zr", 2))
		in->class = INSN_MOVE_CLASS;
	if (in->class == INSN_FLOAT_CLASS && first[0] == 'v')
		in->class = INSN_VECTOR_FLOAT_CLASS;
	if (in->class != INSN_SYSTEM_CLASS && in->class != INSN_NOP_CLASS &&
	    in->class != INSN_PREFETCH_CLASS)
		in->width = width;
	find_a64_memory(in, len);
}

/* ---- text ---------------------------------------------------------------------------------- */

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
	set_a64_class(in);
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

/* ---- without text: branches and calls are found by their words ----------------- */

struct pattern {
	uint32_t mask, word;
	uint8_t flow;
	uint8_t lsb, bits; /* of the distance, in words; 0 bits: the target is in a register */
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
