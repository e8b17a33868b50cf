/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of branches, calls and returns. Those that are mispredicted at a rate that is certain
 * read their next step from a table, one iteration ahead: the load is no part of the penalty. Taken
 * branches right behind a mispredict make it dearer, as the predictor begins anew: there are as few
 * as can be.
 */
#include "kernels/asm.h"
#include "kernels/run.h"

RUN(jump)
{
	uint64_t a = (uint64_t)(uintptr_t)w;

	LOOP(n,
	     TIMES_16(X86("jmp 2f\n.p2align 4\n2:\n") ARM("b 2f\n.p2align 4\n2:\n")), [a] "+r"(a));
}

RUN(indirect_chain)
{
	uint64_t a = (uint64_t)(uintptr_t)w;

	LOOP(n,
	     TIMES_16(X86("lea 2f(%%rip), %%rax\njmp *%%rax\n.p2align 4\n2:\n")
			      ARM("adr x9, 2f\nbr x9\n.p2align 4\n2:\n")),
	     [a] "+r"(a));
}

RUN(always)
{
	uint64_t a = 0;

	(void)w;
	LOOP(n,
	     X86("test %[a], %[a]\n") ARM("cmp %[a], #0\n")
		     TIMES_16(X86("jz 2f\n.p2align 4\n2:\n") ARM("b.eq 2f\n.p2align 4\n2:\n")),
	     [a] "+r"(a));
}

RUN(never)
{
	uint64_t a = 0;

	(void)w;
	LOOP(n,
	     X86("test %[a], %[a]\n") ARM("cmp %[a], #0\n")
		     TIMES_16(X86("jnz 3f\n") ARM("b.ne 3f\n")) "3:\n",
	     [a] "+r"(a));
}

#define TABLE(n, body, w)                                                                   \
	do {                                                                                \
		const char *a_ = (w)->a;                                                    \
		uint64_t i_ = (w)->at, m_ = (w)->mask, v_ = 0, to_ = 0;                     \
		LAYOUTS(w, n, body, [a] "+r"(a_), [i] "+r"(i_), [m] "+r"(m_), [v] "+r"(v_), \
			[to] "+r"(to_));                                                    \
		(w)->at = i_;                                                               \
	} while (0)

/* Eight branches, each taken if its byte is odd; it is in a register long before. On x86-64 they
 * are 16 bytes apart: where they stand closer, predictors of some CPUs begin later behind a
 * mispredict (8 in a line cost 2 to 3 cycles more on Zen 3). */
#define NOP_9 ".byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
#define ODD(bit)                                         \
	X86("bt $" #bit ", %[to]\njc 2f\n" NOP_9 "2:\n") \
	ARM("tbnz %[to], #" #bit ", 2f\nnop\n2:\n")

RUN(conditional)
{
	TABLE(n,
	      X86("mov %[v], %[to]\nmov (%[a],%[i]), %[v]\nadd $8, %[i]\nand %[m], %[i]\n")
		      ARM("mov %[to], %[v]\nldr %[v], [%[a], %[i]]\nadd %[i], %[i], #8\n"
			  "and %[i], %[i], %[m]\n") ODD(0) ODD(8) ODD(16) ODD(24) ODD(32) ODD(40)
			      ODD(48) ODD(56),
	      w);
}

/* To one of 16 places, by the byte; each of them ends the loop's iteration. */
#define PLACE LOOP_END X86("jmp 9f\n.p2align 4\n") ARM("b 9f\n.p2align 4\n")
#define INDIRECTLY                                                              \
	X86("inc %[i]\nand %[m], %[i]\nlea 2f(%%rip), %[to]\nadd %[v], %[to]\n" \
	    "movzbl (%[a],%[i]), %k[v]\nshl $4, %[v]\njmp *%[to]\n")            \
	ARM("add %[i], %[i], #1\nand %[i], %[i], %[m]\nadr %[to], 2f\n"         \
	    "add %[to], %[to], %[v], lsl #4\nldrb %w[v], [%[a], %[i]]\nbr "     \
	    "%[to]\n")                                                          \
	".p2align 4\n2:\n" TIMES_4(PLACE) TIMES_4(PLACE) TIMES_4(PLACE) PLACE PLACE PLACE

RUN(indirect)
{
	TABLE(n, INDIRECTLY, w);
}

/* Code of its own for the same place: a jump that had many targets is predicted later also when it
 * has one again (4 cycles on Zen 3), for a time that depends on earlier code. The comment keeps the
 * compiler from making one function of both. */
RUN(indirect_same)
{
	TABLE(n, "/* same */\n" INDIRECTLY, w);
}

/* A chain of KERNEL_DEPTH functions, each of which calls the next; entered `units` before its end.
 * The last one only returns. A level calls directly, through a register, or, as calls of shared
 * libraries do, a jump through a slot of memory. */
#define KERNEL_DEPTH 64u
#if defined(__x86_64__)
#define LEVEL	      "call 2f\nret\n2:\n"
#define LEVEL_SIZE    6u /* call with 32 bits of offset, ret */
#define INDIRECT      "lea 2f(%%rip), %%rax\ncall *%%rax\nret\n2:\n"
#define INDIRECT_SIZE 10u
#define LIBRARY	      "call 3f\nret\n3:\njmp *6f(%%rip)\n" SLOT "2:\n"
#define LIBRARY_SIZE  12u
#else
#define LEVEL	      "str x30, [sp, #-16]!\nbl 2f\nldr x30, [sp], #16\nret\n2:\n"
#define LEVEL_SIZE    16u
#define INDIRECT      "str x30, [sp, #-16]!\nadr x9, 2f\nblr x9\nldr x30, [sp], #16\nret\n2:\n"
#define INDIRECT_SIZE 20u
#define LIBRARY                                                      \
	"str x30, [sp, #-16]!\nbl 3f\nldr x30, [sp], #16\nret\n3:\n" \
	"adrp x9, 6f\nldr x9, [x9, #:lo12:6f]\nbr x9\n" SLOT "2:\n"
#define LIBRARY_SIZE 28u
#endif
#define SLOT ".pushsection .data.rel,\"aw\"\n.p2align 3\n6:\n.quad 2f\n.popsection\n"

static uint64_t levels_left_out(const struct kernel_work *w, unsigned size)
{
	return (KERNEL_DEPTH - (w->units < KERNEL_DEPTH ? w->units : KERNEL_DEPTH)) * size;
}

#define CHAIN(n, level, skip)                                                                    \
	LOOP(n,                                                                                  \
	     X86("lea 4f(%%rip), %%rax\nadd %[a], %%rax\ncall *%%rax\njmp 5f\n.p2align 6\n4:\n") \
		     ARM("adr x9, 4f\nadd x9, x9, %[a]\nblr x9\nb 5f\n.p2align 6\n4:\n")         \
			     TIMES_16(TIMES_4(level)) "ret\n5:\n",                               \
	     [a] "+r"(skip))

RUN(call)
{
	uint64_t skip = levels_left_out(w, LEVEL_SIZE);

	CHAIN(n, LEVEL, skip);
}

RUN(call_indirect)
{
	uint64_t skip = levels_left_out(w, INDIRECT_SIZE);

	CHAIN(n, INDIRECT, skip);
}

RUN(call_library)
{
	uint64_t skip = levels_left_out(w, LIBRARY_SIZE);

	CHAIN(n, LIBRARY, skip);
}

/* A call whose return goes to where the call came from (2) or elsewhere (4), by the same code. */
#define RETURN_TO(label)                                                                      \
	X86("lea " label "(%%rip), %%rax\ncall 3f\n2:\njmp 5f\n3:\nmov %%rax, (%%rsp)\nret\n" \
	    "4:\njmp 5f\n5:\n")                                                               \
	ARM("adr x9, " label "\nbl 3f\n2:\nb 5f\n3:\nmov x30, x9\nret\n4:\nb 5f\n5:\n")

RUN(return_right)
{
	uint64_t a = (uint64_t)(uintptr_t)w;

	LAYOUTS(w, n, RETURN_TO("2f"), [a] "+r"(a));
}

RUN(return_wrong)
{
	uint64_t a = (uint64_t)(uintptr_t)w;

	LAYOUTS(w, n, RETURN_TO("4f"), [a] "+r"(a));
}

/* Eight trips through a loop: 8, 7, ... 1. Odd ones take a square root, even ones copy. */
RUN(nested)
{
	char *a = w->a, *b = w->b;

	LOOP(n,
	     X86("mov $8, %%eax\n2:\ntest $1, %%eax\njnz 3f\nmov (%[a]), %%rcx\nmov %%rcx, (%[b])\n"
		 "jmp 4f\n3:\nsqrtsd %%xmm0, %%xmm1\n4:\ndec %%eax\njnz 2b\n")
		     ARM("mov w9, #8\n2:\ntbnz w9, #0, 3f\nldr x10, [%[a]]\nstr x10, [%[b]]\nb 4f\n"
			 "3:\nfsqrt d1, d0\n4:\nsubs w9, w9, #1\nb.ne 2b\n"),
	     [a] "+r"(a), [b] "+r"(b));
}

/* Code that prepare_code() made. */
RUN(straight)
{
	char *a = w->a;

	LOOP(n, X86("call *%[a]\n") ARM("blr %[a]\n"), [a] "+r"(a));
}

/* Two additions, the rest nops. Constants of 16 bits, whose prefix changes the length of their
 * instruction, are slow to decode. */
RUN(decoder)
{
	uint64_t unused = (uint64_t)(uintptr_t)w;

	LOOP(n,
	     X86(".rept 2\nadd $0x1234, %%ax\n.fill 28, 1, 0x90\n.endr\n.fill 8, 8, 0x841f0f\n")
		     ARM(".rept 66\nnop\n.endr\n"),
	     [a] "+r"(unused));
}

RUN(decoder_not)
{
	uint64_t unused = (uint64_t)(uintptr_t)w;

	LOOP(n,
	     X86(".rept 2\nadd $0x1234, %%eax\n.fill 32, 8, 0x841f0f\n.endr\n")
		     ARM(".rept 66\nnop\n.endr\n"),
	     [a] "+r"(unused));
}

/* The instruction that prepare_own_code() made is written again, the same or at another place. */
RUN(self_modify)
{
	char *a = w->a, *b = w->b;
	uint64_t insn = 0xd2800029; /* movz x9, #1 */

	LOOP(n,
	     X86("movb %%cl, 1(%[b])\ncall *%[a]\n")
		     ARM("str %w[c], [%[b]]\ndc cvau, %[b]\ndsb ish\nic ivau, %[b]\ndsb ish\n"
			 "isb\nblr %[a]\n"),
	     [a] "+r"(a), [b] "+r"(b), [c] "+r"(insn));
}
