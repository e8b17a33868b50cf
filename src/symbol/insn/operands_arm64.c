/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operands_arm64 - AArch64: the first row of operands_arm64.def that fits; loads and stores are in
 * operands_arm64_memory.c. Instructions in neither (SVE, system registers, half precision)
 * `breaks`.
 */
#include "base/bytes.h"
#include "symbol/insn/operands_arm64_int.h"

enum form {
	D = 1 << 0,    /* writes the general register of bits 0 to 4 */
	N = 1 << 1,    /* reads that of 5 to 9 */
	M = 1 << 2,    /* of 16 to 20 */
	A = 1 << 3,    /* of 10 to 14 */
	D_SP = 1 << 4, /* 31 is the stack pointer */
	N_SP = 1 << 5,
	KEEPS = 1 << 6, /* reads that of bits 0 to 4 */
	FLAGS = 1 << 7, /* writes them */
	ASKS = 1 << 8,	/* reads them */
	LEAVES = 1 << 9,
	VD = 1 << 10, /* vectors in the same places */
	VN = 1 << 11,
	VM = 1 << 12,
	VA = 1 << 13,
	VKEEPS = 1 << 14,
	WIDE = 1 << 15,	   /* 128 bits if bit 30 is set */
	FULL = 1 << 16,	   /* 128 bits */
	NARROW = 1 << 17,  /* 128 bits to 64; to the upper half if bit 30 is set: the rest stays */
	ELEMENT = 1 << 18, /* M is shorter if elements are short */
	SUM_N = 1 << 19,   /* which one is added at the end */
	SUM_A = 1 << 20,
	SUM_VA = 1 << 21,
	SUM_VD = 1 << 22,
};

struct row {
	uint32_t mask, word, form;
	uint8_t op;
};

static const struct row rows[] = {
#define A64(mask, word, op, form) { mask, word, form, OP_##op },
#include "symbol/insn/operands_arm64.def"
#undef A64
};

/* ---- registers ------------------------------------------------------------------------------- */

static void general_registers(struct operands *o, uint32_t word, uint32_t form)
{
	unsigned d = a64_field(word, 0, 5), n = a64_field(word, 5, 5), m = a64_field(word, 16, 5),
		 a = a64_field(word, 10, 5);

	o->writes |= form & D ? a64_general(d) : 0;
	o->reads |= (form & N ? a64_general(n) : 0) | (form & M ? a64_general(m) : 0) |
		    (form & A ? a64_general(a) : 0) | (form & KEEPS ? a64_general(d) : 0);
	o->writes |= form & FLAGS ? o->flags : 0;
	o->reads |= form & ASKS ? o->flags : 0;
	o->sum |= (form & SUM_N ? a64_general(n) : 0) | (form & SUM_A ? a64_general(a) : 0);
}

static void vector_registers(struct operands *o, uint32_t word, uint32_t form)
{
	unsigned d = a64_field(word, 0, 5), n = a64_field(word, 5, 5), m = a64_field(word, 16, 5),
		 a = a64_field(word, 10, 5);
	bool wide = a64_field(word, 30, 1) && !a64_field(word, 28, 1);

	if (!(form & (VD | VN)))
		return;
	if (form & ELEMENT && a64_field(word, 22, 2) < 2)
		m &= 15;
	o->bits = form & (FULL | NARROW) || (form & WIDE && wide) ? 128 : 64;
	o->writes |= form & VD ? a64_vector(d) : 0;
	o->reads |= (form & VN ? a64_vector(n) : 0) | (form & VM ? a64_vector(m) : 0) |
		    (form & VA ? a64_vector(a) : 0) |
		    (form & VKEEPS || (form & NARROW && wide) ? a64_vector(d) : 0);
	o->sum |= (form & SUM_VA ? a64_vector(a) : 0) | (form & SUM_VD ? a64_vector(d) : 0);
}

/* A register that is added and multiplied is waited for from the beginning. */
static void sum_once(struct operands *o, uint32_t word, uint32_t form)
{
	unsigned n = a64_field(word, 5, 5), m = a64_field(word, 16, 5);

	if (form & SUM_A)
		o->sum &= ~(a64_general(n) | a64_general(m));
	if (form & SUM_N)
		o->sum &= ~a64_general(m);
	if (form & (SUM_VA | SUM_VD))
		o->sum &= ~((form & VN ? a64_vector(n) : 0) | (form & VM ? a64_vector(m) : 0));
}

/* ---- operations ------------------------------------------------------------------------------ */

/* An add or subtract of a shifted register; to the left by up to 4 it costs nothing more. */
static bool shifts(uint32_t word)
{
	return a64_field(word, 22, 2) || a64_field(word, 10, 6) > 4;
}

static bool is_zero(uint32_t word)
{
	unsigned mode = a64_field(word, 12, 4);
	bool inverts = a64_field(word, 29, 1);

	return !a64_field(word, 16, 3) && !a64_field(word, 5, 5) && mode != 15 &&
	       (!inverts || mode == 14);
}

/* The operation, refined by its operands. */
static uint8_t refine_a64(uint32_t word, uint8_t op)
{
	unsigned n = a64_field(word, 5, 5), m = a64_field(word, 16, 5);
	bool sum = (word & 0x1f200000) == 0x0b000000,
	     imm_vector = (word & 0x9ff80400) == 0x0f000400;

	switch (op) {
	case OP_ALU:
		if ((word & 0x7f800000) == 0x32000000 && n == A64_ZERO)
			return OP_SET;
		return sum && shifts(word) ? OP_ALU_SHIFT : OP_ALU;
	case OP_ALU_FLAGS:
		return sum && shifts(word) ? OP_ALU_SHIFT : OP_ALU_FLAGS;
	case OP_AND_FLAGS:
		return (word & 0x1f000000) == 0x0a000000 && (word & 0xc0fc00) ? OP_ALU_SHIFT : op;
	case OP_MOVE:
		return m == A64_ZERO ? OP_SET : OP_MOVE;
	case OP_SHIFT_TWO:
		return n == m ? OP_SHIFT : op;
	case OP_VMOVE:
		if (imm_vector)
			return is_zero(word) ? OP_ZERO : OP_VMOVE;
		return (word & 0xbfe0fc00) == 0x0ea01c00 && n != m ? OP_VLOGIC : OP_VMOVE;
	case OP_FDIV32:
		return (word & 0xbfe0fc00) == 0x2e60fc00 ? OP_FDIV64 : op;
	case OP_FSQRT32:
		return (word & 0xbffffc00) == 0x2ee1f800 ? OP_FSQRT64 : op;
	default:
		return op;
	}
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void becomes(struct operands *o, uint8_t unit, uint8_t from, int64_t add)
{
	o->known = unit;
	o->from = from;
	o->add = add;
}

/* Registers afterwards, as far as addresses are concerned. */
static void follow_a64(struct operands *o, uint32_t word, uint64_t vaddr)
{
	unsigned d = a64_field(word, 0, 5), n = a64_field(word, 5, 5), m = a64_field(word, 16, 5);
	bool whole = a64_field(word, 31, 1);

	if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
		int64_t far = a64_signed(word, 5, 19) * 4 + a64_field(word, 29, 2);

		if (d == A64_ZERO)
			return;
		if (whole)
			becomes(o, (uint8_t)d, UNIT_NONE,
				(int64_t)((vaddr & ~UINT64_C(4095)) + (uint64_t)far * 4096));
		else
			becomes(o, (uint8_t)d, UNIT_NONE, (int64_t)(vaddr + (uint64_t)far));
	} else if (whole && (word & 0x3f800000) == 0x11000000) { /* add, sub of a constant */
		int64_t by = (int64_t)a64_field(word, 10, 12) << (a64_field(word, 22, 1) ? 12 : 0);

		becomes(o, a64_base(d), a64_base(n), a64_field(word, 30, 1) ? -by : by);
	} else if (whole && o->op == OP_MOVE && d != A64_ZERO) {
		becomes(o, (uint8_t)d, (uint8_t)m, 0);
	} else if ((word & 0x7f800000) == 0x52800000 && d != A64_ZERO) { /* movz */
		becomes(o, (uint8_t)d, UNIT_NONE,
			(int64_t)((uint64_t)a64_field(word, 5, 16) << 16 * a64_field(word, 21, 2)));
	}
}

void operands_arm64(const uint8_t *p, size_t len, uint64_t vaddr, struct operands *o)
{
	const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(*rows);
	uint32_t word;

	*o = (struct operands){ .len = 4,
				.op = OP_OTHER,
				.flags = UINT64_C(1) << UNIT_FLAGS,
				.stepped = UNIT_NONE,
				.known = UNIT_NONE,
				.from = UNIT_NONE,
				.copies = UNIT_NONE };
	if (len < 4) {
		o->len = len ? (uint8_t)len : 1;
		o->bad = true;
		return;
	}
	word = ld32(p);
	if (operands_arm64_memory(word, vaddr, o))
		return;
	while (row < end && (word & row->mask) != row->word)
		row++;
	if (row == end) {
		o->breaks = true;
		return;
	}
	o->op = refine_a64(word, row->op);
	o->leaves = (row->form & LEAVES) != 0;
	if (o->leaves)
		return;
	general_registers(o, word, row->form);
	vector_registers(o, word, row->form);
	sum_once(o, word, row->form);
	if (o->op == OP_ZERO)
		o->reads = 0;
	follow_a64(o, word, vaddr);
}
