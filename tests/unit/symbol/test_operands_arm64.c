/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands of AArch64: words as the GNU assembler makes them, and what the Arm ARM says of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <elf.h>

#include "symbol/operands.h"

/* "x1 sp f v2": units of general registers, the stack pointer, flags, vectors. */
static uint64_t units(const char *text)
{
	uint64_t set = 0;

	for (const char *at = text; *at; at += strcspn(at, " "), at += *at == ' ')
		set |= UINT64_C(1) << (*at == 'f'   ? (unsigned)UNIT_FLAGS
				       : *at == 'v' ? UNIT_VECTOR + (unsigned)atoi(at + 1)
						    : (unsigned)atoi(at + 1));
	return set;
}

static const struct {
	const char *text;
	uint32_t word;
	enum insn_op op;
	const char *reads, *writes, *sum;
} plain[] = {
	{ "add x1, x2, x3", 0x8b030041, OP_ALU, "x2 x3", "x1", "" },
	{ "add x1, x2, x3, lsl #4", 0x8b031041, OP_ALU, "x2 x3", "x1", "" },
	{ "add x1, x2, x3, lsl #5", 0x8b031441, OP_ALU_SHIFT, "x2 x3", "x1", "" },
	{ "sub x1, x2, w3, uxtb", 0xcb230041, OP_ALU_SHIFT, "x2 x3", "x1", "" },
	{ "subs xzr, x2, #1", 0xf100045f, OP_ALU_FLAGS, "x2", "f", "" },
	{ "ands w1, w2, w3", 0x6a030041, OP_AND_FLAGS, "x2 x3", "x1 f", "" },
	{ "ands w1, w2, w3, lsr #2", 0x6a430841, OP_ALU_SHIFT, "x2 x3", "x1 f", "" },
	{ "eor x1, x1, x1", 0xca010021, OP_ALU, "x1", "x1", "" },
	{ "mov x1, x2", 0xaa0203e1, OP_MOVE, "x2", "x1", "" },
	{ "mov x1, xzr", 0xaa1f03e1, OP_SET, "", "x1", "" },
	{ "mov x1, #5", 0xd28000a1, OP_SET, "", "x1", "" },
	{ "mov x1, #0xff00ff00ff00ff", 0xb2009fe1, OP_SET, "", "x1", "" },
	{ "movk x1, #7, lsl #16", 0xf2a000e1, OP_ALU, "x1", "x1", "" },
	{ "adcs x1, x2, x3", 0xba030041, OP_CARRY, "x2 x3 f", "x1 f", "" },
	{ "lsl x1, x2, #3", 0xd37df041, OP_SHIFT, "x2", "x1", "" },
	{ "ror x1, x2, #3", 0x93c20c41, OP_SHIFT, "x2", "x1", "" },
	{ "extr x1, x2, x3, #3", 0x93c30c41, OP_SHIFT_TWO, "x2 x3", "x1", "" },
	{ "bfi x1, x2, #3, #4", 0xb37d0c41, OP_DEPOSIT, "x1 x2", "x1", "" },
	{ "lsr x1, x2, x3", 0x9ac32441, OP_SHIFT_FREE, "x2 x3", "x1", "" },
	{ "csinc x1, x2, x3, lt", 0x9a83b441, OP_SELECT, "x2 x3 f", "x1", "" },
	{ "cset w1, eq", 0x1a9f17e1, OP_SETCC, "f", "x1", "" },
	{ "ccmp x1, #3, #0, ne", 0xfa431820, OP_ALU_FLAGS, "x1 f", "f", "" },
	{ "rbit x1, x2", 0xdac00041, OP_SWAP, "x2", "x1", "" },
	{ "clz w1, w2", 0x5ac01041, OP_SCAN, "x2", "x1", "" },
	{ "crc32cx w1, w2, x3", 0x9ac35c41, OP_CRC, "x2 x3", "x1", "x2" },
	{ "mul w1, w2, w3", 0x1b037c41, OP_MUL, "x2 x3", "x1", "" },
	{ "madd x1, x2, x3, x4", 0x9b031041, OP_MUL64, "x2 x3 x4", "x1", "x4" },
	{ "madd x1, x2, x4, x4", 0x9b041041, OP_MUL64, "x2 x4", "x1", "" },
	{ "smaddl x1, w2, w3, x4", 0x9b231041, OP_MUL, "x2 x3 x4", "x1", "x4" },
	{ "umulh x1, x2, x3", 0x9bc37c41, OP_MUL_WIDE, "x2 x3", "x1", "" },
	{ "udiv w1, w2, w3", 0x1ac30841, OP_DIV32, "x2 x3", "x1", "" },
	{ "sdiv x1, x2, x3", 0x9ac30c41, OP_DIV64, "x2 x3", "x1", "" },
	{ "cbz x1, .", 0xb4000001, OP_BRANCH, "x1", "", "" },
	{ "b.eq .", 0x54000000, OP_BRANCH, "f", "", "" },
	{ "b .", 0x14000000, OP_JUMP, "", "", "" },
	{ "fadd d1, d2, d3", 0x1e632841, OP_FADD, "v2 v3", "v1", "" },
	{ "fsub v1.2d, v2.2d, v3.2d", 0x4ee3d441, OP_FADD, "v2 v3", "v1", "" },
	{ "fmul v1.4s, v2.4s, v3.s[1]", 0x4fa39041, OP_FMUL, "v2 v3", "v1", "" },
	{ "fnmsub d1, d2, d3, d4", 0x1f639041, OP_FMA, "v2 v3 v4", "v1", "v4" },
	{ "fmls v1.4s, v2.4s, v3.4s", 0x4ea3cc41, OP_FMA, "v1 v2 v3", "v1", "v1" },
	{ "fdiv v1.2d, v2.2d, v3.2d", 0x6e63fc41, OP_FDIV64, "v2 v3", "v1", "" },
	{ "fdiv v1.4s, v2.4s, v3.4s", 0x6e23fc41, OP_FDIV32, "v2 v3", "v1", "" },
	{ "fdiv d1, d2, d3", 0x1e631841, OP_FDIV64, "v2 v3", "v1", "" },
	{ "fsqrt v1.2d, v2.2d", 0x6ee1f841, OP_FSQRT64, "v2", "v1", "" },
	{ "fsqrt s1, s2", 0x1e21c041, OP_FSQRT32, "v2", "v1", "" },
	{ "fcmp d1, #0.0", 0x1e602028, OP_FCOMPARE, "v1", "f", "" },
	{ "fcsel d1, d2, d3, gt", 0x1e63cc41, OP_FMINMAX, "v2 v3 f", "v1", "" },
	{ "frintm d1, d2", 0x1e654041, OP_FROUND, "v2", "v1", "" },
	{ "fcvt d1, s2", 0x1e22c041, OP_CONVERT_SIZE, "v2", "v1", "" },
	{ "fcvtzs x1, d2", 0x9e780041, OP_CONVERT_FROM, "v2", "x1", "" },
	{ "ucvtf d1, w2", 0x1e630041, OP_CONVERT_TO, "x2", "v1", "" },
	{ "scvtf v1.2d, v2.2d", 0x4e61d841, OP_CONVERT, "v2", "v1", "" },
	{ "fmov x1, d2", 0x9e660041, OP_FROM_VECTOR, "v2", "x1", "" },
	{ "fmov d1, x2", 0x9e670041, OP_TO_VECTOR, "x2", "v1", "" },
	{ "fmov v1.d[1], x2", 0x9eaf0041, OP_INSERT, "x2 v1", "v1", "" },
	{ "ins v1.s[2], w2", 0x4e141c41, OP_INSERT, "x2 v1", "v1", "" },
	{ "ins v1.s[2], v3.s[0]", 0x6e140461, OP_SHUFFLE, "v1 v3", "v1", "" },
	{ "umov w1, v2.b[3]", 0x0e073c41, OP_FROM_VECTOR, "v2", "x1", "" },
	{ "dup v1.4s, w2", 0x4e040c41, OP_TO_VECTOR, "x2", "v1", "" },
	{ "mov v1.16b, v2.16b", 0x4ea21c41, OP_VMOVE, "v2", "v1", "" },
	{ "orr v1.16b, v2.16b, v3.16b", 0x4ea31c41, OP_VLOGIC, "v2 v3", "v1", "" },
	{ "bsl v1.16b, v2.16b, v3.16b", 0x6e631c41, OP_VLOGIC, "v1 v2 v3", "v1", "" },
	{ "movi v1.4s, #0", 0x4f000401, OP_ZERO, "", "v1", "" },
	{ "movi v1.4s, #1", 0x4f000421, OP_VMOVE, "", "v1", "" },
	{ "add v1.4s, v2.4s, v3.4s", 0x4ea38441, OP_VALU, "v2 v3", "v1", "" },
	{ "uaddlp v1.4s, v2.8h", 0x6e602841, OP_VALU, "v2", "v1", "" },
	{ "cmeq v1.16b, v2.16b, #0", 0x4e209841, OP_VALU, "v2", "v1", "" },
	{ "shl v1.4s, v2.4s, #3", 0x4f235441, OP_VSHIFT, "v2", "v1", "" },
	{ "ssra v1.4s, v2.4s, #3", 0x4f3d1441, OP_VSUM, "v1 v2", "v1", "v1" },
	{ "uadalp v1.4s, v2.8h", 0x6e606841, OP_VSUM, "v1 v2", "v1", "v1" },
	{ "xtn2 v1.8h, v2.4s", 0x4e612841, OP_SHUFFLE, "v1 v2", "v1", "" },
	{ "mla v1.4s, v2.4s, v3.4s", 0x4ea39441, OP_VMUL, "v1 v2 v3", "v1", "v1" },
	{ "umlal v1.4s, v2.4h, v3.4h", 0x2e638041, OP_VMUL_LONG, "v1 v2 v3", "v1", "v1" },
	{ "addv s1, v2.4s", 0x4eb1b841, OP_ACROSS, "v2", "v1", "" },
	{ "ext v1.16b, v2.16b, v3.16b, #3", 0x6e031841, OP_SHUFFLE, "v2 v3", "v1", "" },
	{ "aese v1.16b, v2.16b", 0x4e284841, OP_AES, "v1 v2", "v1", "" },
	{ "pmull v1.1q, v2.1d, v3.1d", 0x0ee3e041, OP_CLMUL, "v2 v3", "v1", "" },
	{ "sdot v1.4s, v2.16b, v3.16b", 0x4e839441, OP_DOT, "v1 v2 v3", "v1", "v1" },
};

static const struct {
	const char *text;
	uint32_t word;
	enum insn_op op;
	const char *reads, *writes, *address;
	const char *memory; /* base, index, what is added, bytes, read or written; of the first */
	const char *step;   /* what becomes of its base */
} memory[] = {
	{ "ldr x1, [x2, #16]", 0xf9400841, OP_LOAD, "", "x1", "x2", "x2 - 16 8 r", "" },
	{ "ldr x1, [x2], #16", 0xf8410441, OP_LOAD, "", "x1 x2", "x2", "x2 - 0 8 r", "x2 16" },
	{ "ldrsb w1, [x2, #-3]!", 0x38dfdc41, OP_LOAD, "", "x1 x2", "x2", "x2 - -3 1 r", "x2 -3" },
	{ "ldr w1, [x2, x3, lsl #2]", 0xb8637841, OP_LOAD, "", "x1", "x2 x3", "x2 x3*4 0 4 r", "" },
	{ "ldr q1, [x2, w3, sxtw]", 0x3ce3c841, OP_LOAD_VECTOR, "", "v1", "x2 x3", "x2 x3*1 0 16 r",
	  "" },
	{ "str d1, [sp, #8]", 0xfd0007e1, OP_STORE, "v1", "", "", "sp - 8 8 w", "" },
	{ "stp x1, x3, [sp, #-32]!", 0xa9be0fe1, OP_STORE, "x1 x3", "", "", "sp - -32 8 w",
	  "sp -32" },
	{ "ldp q1, q3, [x2, #32]", 0xad410c41, OP_LOAD_PAIR, "", "v1 v3", "x2", "x2 - 32 16 r",
	  "" },
	{ "ldpsw x1, x3, [x2]", 0x69400c41, OP_LOAD_PAIR, "", "x1 x3", "x2", "x2 - 0 4 r", "" },
	{ "ldr x1, .+64", 0x58000201, OP_LOAD, "", "x1", "", "- - 4160 8 r", "" },
	{ "ld1 {v1.4s}, [x2], #16", 0x4cdf7841, OP_LOAD_VECTOR, "", "v1 x2", "x2", "x2 - 0 16 r",
	  "x2 16" },
	{ "ld2 {v1.4s, v2.4s}, [x2]", 0x4c408841, OP_OTHER, "", "v1 v2", "x2", "x2 - 0 32 r", "" },
	{ "st1 {v1.s}[1], [x2]", 0x0d009041, OP_OTHER, "v1", "", "x2", "x2 - 0 8 w", "" },
	{ "ld1 {v1.s}[1], [x2]", 0x0d409041, OP_OTHER, "v1", "v1", "x2", "x2 - 0 8 r", "" },
	{ "prfm pldl1keep, [x2]", 0xf9800040, OP_NOP, "", "", "", "none", "" },
	{ "ldadd x1, x3, [x2]", 0xf8210043, OP_OTHER, "x1", "x3", "x2", "x2 - 0 8 rw", "" },
	{ "swph w1, w3, [sp]", 0x782183e3, OP_OTHER, "x1", "x3", "", "sp - 0 2 rw", "" },
	{ "stadd x1, [x2]", 0xf821005f, OP_OTHER, "x1", "", "x2", "x2 - 0 8 rw", "" },
	{ "cas w1, w3, [x2]", 0x88a17c43, OP_OTHER, "x1 x3", "x1", "x2", "x2 - 0 4 rw", "" },
	{ "casp x2, x3, x4, x5, [x6]", 0x48227cc4, OP_OTHER, "x2 x3 x4 x5", "x2 x3", "x6",
	  "x6 - 0 16 rw", "" },
	{ "casp w2, w3, w4, w5, [x6]", 0x08227cc4, OP_OTHER, "x2 x3 x4 x5", "x2 x3", "x6",
	  "x6 - 0 8 rw", "" },
	{ "ldar x1, [x2]", 0xc8dffc41, OP_OTHER, "", "x1", "x2", "x2 - 0 8 r", "" },
	{ "ldarb w1, [x2]", 0x08dffc41, OP_OTHER, "", "x1", "x2", "x2 - 0 1 r", "" },
	{ "stlr x1, [x2]", 0xc89ffc41, OP_OTHER, "x1", "", "x2", "x2 - 0 8 w", "" },
	{ "ldxr x1, [x2]", 0xc85f7c41, OP_OTHER, "", "x1", "x2", "x2 - 0 8 r", "" },
	{ "stlxr w4, x1, [x2]", 0xc804fc41, OP_OTHER, "x1", "x4", "x2", "x2 - 0 8 w", "" },
	{ "ldxp w1, w4, [x2]", 0x887f1041, OP_OTHER, "", "x1 x4", "x2", "x2 - 0 8 r", "" },
	{ "stxp w3, w1, w4, [x2]", 0x88231041, OP_OTHER, "x1 x4", "x3", "x2", "x2 - 0 8 w", "" },
	{ "ldxp x1, x4, [x2]", 0xc87f1041, OP_OTHER, "", "x1 x4", "x2", "x2 - 0 16 r", "" },
	{ "ldapr x1, [x2]", 0xf8bfc041, OP_OTHER, "", "x1", "x2", "x2 - 0 8 r", "" },
	{ "ldapur x1, [x2, #24]", 0xd9418041, OP_OTHER, "", "x1", "x2", "x2 - 24 8 r", "" },
	{ "ldapursw x1, [x2, #4]", 0x99804041, OP_OTHER, "", "x1", "x2", "x2 - 4 4 r", "" },
	{ "stlur w1, [x2, #-8]", 0x991f8041, OP_OTHER, "x1", "", "x2", "x2 - -8 4 w", "" },
};

static void put_unit(char *out, size_t size, uint8_t u)
{
	if (u == UNIT_NONE)
		(void)snprintf(out, size, "-");
	else if (u == UNIT_SP)
		(void)snprintf(out, size, "sp");
	else
		(void)snprintf(out, size, "x%u", u);
}

static struct operands decode(uint32_t word)
{
	struct operands o;

	operands_arm64((const uint8_t *)&word, 4, 0x1000, &o);
	return o;
}

static void test_plain(void **state)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		struct operands o = decode(plain[i].word);

		if (o.op != plain[i].op || o.reads != units(plain[i].reads) ||
		    o.writes != units(plain[i].writes) || o.sum != units(plain[i].sum) ||
		    o.breaks || o.bad || o.n_memory)
			fail_msg("%s: %s, reads %#llx, writes %#llx, sum %#llx", plain[i].text,
				 insn_op_name((enum insn_op)o.op), (unsigned long long)o.reads,
				 (unsigned long long)o.writes, (unsigned long long)o.sum);
	}
	(void)state;
}

static void test_memory(void **state)
{
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++) {
		struct operands o = decode(memory[i].word);
		const struct operands_memory *m = &o.memory[0];
		char base[8], index[8], at[64] = "none", step[32] = "";

		put_unit(base, sizeof(base), m->base);
		put_unit(index, sizeof(index), m->index);
		if (o.n_memory && m->index != UNIT_NONE)
			(void)snprintf(at, sizeof(at), "%s %s*%u %lld %u %s%s", base, index,
				       m->scale, (long long)m->disp, m->bytes, m->load ? "r" : "",
				       m->store ? "w" : "");
		else if (o.n_memory)
			(void)snprintf(at, sizeof(at), "%s - %lld %u %s%s", base,
				       (long long)m->disp, m->bytes, m->load ? "r" : "",
				       m->store ? "w" : "");
		if (o.known != UNIT_NONE) {
			put_unit(base, sizeof(base), o.known);
			(void)snprintf(step, sizeof(step), "%s %lld", base, (long long)o.add);
		}
		if (o.op != memory[i].op || o.reads != units(memory[i].reads) ||
		    o.writes != units(memory[i].writes) || o.address != units(memory[i].address) ||
		    o.breaks || strcmp(at, memory[i].memory) != 0 ||
		    strcmp(step, memory[i].step) != 0)
			fail_msg("%s: %s, reads %#llx, writes %#llx, address %#llx, at %s, step %s",
				 memory[i].text, insn_op_name((enum insn_op)o.op),
				 (unsigned long long)o.reads, (unsigned long long)o.writes,
				 (unsigned long long)o.address, at, step);
	}
	(void)state;
}

static void test_apart(void **state)
{
	struct operands o = decode(0x04a00000); /* add z0.s, z0.s, z0.s: SVE */

	assert_true(o.breaks);
	o = decode(0xd53bd040); /* mrs x0, tpidr_el0 */
	assert_true(o.breaks);
	o = decode(0x94000000); /* bl */
	assert_true(o.leaves);
	o = decode(0xd65f03c0); /* ret */
	assert_true(o.leaves);
	o = decode(0x910043ff); /* add sp, sp, #16: the stack pointer is in no set */
	assert_int_equal(o.known, UNIT_SP);
	assert_int_equal(o.add, 16);
	assert_int_equal(o.writes | o.reads, 0);
	o = decode(0x90000021); /* adrp x1, . + 0x4000 */
	assert_int_equal(o.from, UNIT_NONE);
	assert_int_equal(o.add, 0x5000);
	operands_arm64((const uint8_t *)"\0\0", 2, 0, &o);
	assert_true(o.bad && o.len == 2);
	assert_true(insn_op_is_of(OP_ALU_SHIFT, EM_AARCH64) && !insn_op_is_of(OP_LEA, EM_AARCH64));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain),
					    cmocka_unit_test(test_memory),
					    cmocka_unit_test(test_apart) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
