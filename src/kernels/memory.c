/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of memory: a list walker, streams, loads behind stores, an atomic addition. An iteration
 * of a stream is a line of 64 bytes; offsets wrap around by a mask, without a branch.
 */
#include "kernels/asm.h"
#include "kernels/run.h"

RUN(walk)
{
	char *a = w->here;

	LOOP(n, X86("mov (%[a]), %[a]\n") ARM("ldr %[a], [%[a]]\n"), [a] "+r"(a));
	w->here = a;
}

/* x86 addresses are a + i; AArch64 pairs of registers have no such mode. */
#define NEXT_LINE \
	X86("add $64, %[i]\nand %[m], %[i]\n") ARM("add %[i], %[i], #64\nand %[i], %[i], %[m]\n")
/* Each line once, in an order that no prefetcher follows: 26125 * i + 37, counted in lines, has the
 * full period of any power of two, and goes to another page each time. */
#define NEXT_SCATTERED                                                    \
	X86("imul $26125, %[i], %[i]\nadd $2368, %[i]\nand %[m], %[i]\n") \
	ARM("mov x9, #26125\nmul %[i], %[i], x9\nadd %[i], %[i], #2368\n" \
	    "and %[i], %[i], %[m]\n")
#define LINES(n, body, w)                                                                         \
	do {                                                                                      \
		const char *a_ = (w)->a, *b_ = (w)->b, *c_ = (w)->c;                              \
		uint64_t i_ = (w)->at, m_ = (w)->mask;                                            \
		LOOP(n,                                                                           \
		     body, [a] "+r"(a_), [b] "+r"(b_), [c] "+r"(c_), [i] "+r"(i_), [m] "+r"(m_)); \
		(w)->at = i_;                                                                     \
	} while (0)
#define STREAM(n, body, w)    LINES(n, body NEXT_LINE, w)
#define SCATTERED(n, body, w) LINES(n, body NEXT_SCATTERED, w)
#define LOAD_LINE(from)                                                                   \
	X86("movdqa (%[" from "],%[i]), %%xmm0\nmovdqa 16(%[" from "],%[i]), %%xmm1\n"    \
	    "movdqa 32(%[" from "],%[i]), %%xmm2\nmovdqa 48(%[" from "],%[i]), %%xmm3\n") \
	ARM("add x9, %[" from "], %[i]\nldp q0, q1, [x9]\nldp q2, q3, [x9, #32]\n")
#define STORE_LINE(to, x86, arm)                                                      \
	X86(x86 " %%xmm0, (%[" to "],%[i])\n" x86 " %%xmm1, 16(%[" to "],%[i])\n" x86 \
		" %%xmm2, 32(%[" to "],%[i])\n" x86 " %%xmm3, 48(%[" to "],%[i])\n")  \
	ARM("add x10, %[" to "], %[i]\n" arm " q0, q1, [x10]\n" arm " q2, q3, [x10, #32]\n")

RUN(read)
{
	STREAM(n, LOAD_LINE("a"), w);
}

/* A load whose address stays in a register that nothing writes until the next iteration, and
 * instructions of one length, so that the distance from it is known. */
#define SKID_ONE	X86("lea 1(%%rdx), %%eax\n") ARM("add w8, w2, #1\n")
#define SKID_MARK(name) ".globl " name "\n.hidden " name "\n" name ":\n"

#ifdef __x86_64__
enum { SKID_STEP = 3, SKID_REG = 4 };
#else
enum { SKID_STEP = 4, SKID_REG = 9 };
#endif

extern const char kernel_skid_load[], kernel_skid_after[];

RUN(skid)
{
	STREAM(n,
	       X86("mov %[a], %%rsi\nadd %[i], %%rsi\n") ARM("add x9, %[a], %[i]\n")
		       SKID_MARK("kernel_skid_load") X86("mov (%%rsi), %%rcx\n")
			       ARM("ldr x10, [x9]\n") SKID_MARK("kernel_skid_after") TIMES_16(
				       SKID_ONE SKID_ONE SKID_ONE SKID_ONE SKID_ONE SKID_ONE),
	       w);
}

bool kernel_skid_place(struct kernel_skid *out)
{
#if HAVE_KERNELS
	*out = (struct kernel_skid){ (uintptr_t)kernel_skid_load, (uintptr_t)kernel_skid_after, 96,
				     SKID_STEP, SKID_REG };
	return true;
#else
	*out = (struct kernel_skid){ .load = 0 };
	return false;
#endif
}

RUN(store)
{
	STREAM(n, STORE_LINE("a", "movdqa", "stp"), w);
}

RUN(store_nt)
{
	STREAM(n, STORE_LINE("a", "movntdq", "stnp"), w);
}

RUN(copy)
{
	STREAM(n, LOAD_LINE("b") STORE_LINE("a", "movdqa", "stp"), w);
}

RUN(copy_nt)
{
	STREAM(n, LOAD_LINE("b") STORE_LINE("a", "movntdq", "stnp"), w);
}

RUN(read_scattered)
{
	SCATTERED(n, LOAD_LINE("a"), w);
}

RUN(store_scattered)
{
	SCATTERED(n, STORE_LINE("a", "movdqa", "stp"), w);
}

RUN(copy_scattered)
{
	SCATTERED(n, LOAD_LINE("b") STORE_LINE("a", "movdqa", "stp"), w);
}

/* a = b * c, in doubles */
#define TRIAD_X86(at, store)                                                            \
	X86("movapd " at "(%[b],%[i]), %%xmm0\nmulpd " at "(%[c],%[i]), %%xmm0\n" store \
	    " %%xmm0, " at "(%[a],%[i])\n")
#define TRIAD(at)                                                                       \
	TRIAD_X86(at, "movapd")                                                         \
	ARM("ldr q0, [x9, #" at "]\nldr q1, [x10, #" at "]\nfmul v0.2d, v0.2d, v1.2d\n" \
	    "str q0, [x11, #" at "]\n")
/* AArch64 stores pairs past the caches */
#define TRIAD_NT(at, behind)                                          \
	TRIAD_X86(at, "movntpd")                                      \
	TRIAD_X86(behind, "movntpd")                                  \
	ARM("ldp q0, q1, [x9, #" at "]\nldp q2, q3, [x10, #" at "]\n" \
	    "fmul v0.2d, v0.2d, v2.2d\nfmul v1.2d, v1.2d, v3.2d\nstnp q0, q1, [x11, #" at "]\n")
#define TRIAD_PLACES ARM("add x9, %[b], %[i]\nadd x10, %[c], %[i]\nadd x11, %[a], %[i]\n")
#define TRIAD_LINE   TRIAD_PLACES TRIAD("0") TRIAD("16") TRIAD("32") TRIAD("48")

RUN(triad)
{
	STREAM(n, TRIAD_LINE, w);
}

RUN(triad_scattered)
{
	SCATTERED(n, TRIAD_LINE, w);
}

RUN(triad_nt)
{
	STREAM(n, TRIAD_PLACES TRIAD_NT("0", "16") TRIAD_NT("32", "48"), w);
}

/* ---- a load behind a store ----------------------------------------------- */

#define PAIR(n, body, w)                                                 \
	do {                                                             \
		char *a_ = (w)->a, *b_ = (w)->b;                         \
		uint64_t v_ = 0;                                         \
		LOOP(n, body, [a] "+r"(a_), [b] "+r"(b_), [v] "+r"(v_)); \
	} while (0)

/* The loaded word is stored next, and (being 0) is part of the next load's address: a load that has
 * to wait makes the chain longer. */
RUN(forward)
{
	PAIR(n,
	     X86("mov %[v], (%[a])\nmov (%[b],%[v]), %[v]\n")
		     ARM("str %[v], [%[a]]\nldr %[v], [%[b], %[v]]\n"),
	     w);
}

RUN(blocked)
{
	PAIR(n,
	     X86("mov %b[v], (%[a])\nmov (%[b],%[v]), %[v]\n")
		     ARM("strb %w[v], [%[a]]\nldr %[v], [%[b], %[v]]\n"),
	     w);
}

RUN(atomic)
{
	PAIR(n,
	     X86("lock xadd %[v], (%[a])\n")
		     ARM("2:\nldaxr x9, [%[a]]\nadd x9, x9, %[v]\nstlxr w10, x9, [%[a]]\n"
			 "cbnz w10, 2b\n"),
	     w);
}

/* AArch64 has none, see prepare_split_lock(). */
RUN(split_lock)
{
	PAIR(n, X86("lock xadd %[v], (%[a])\n") ARM("nop\n"), w);
}

/* Writes the lines of a back to memory and drops them from all caches. */
RUN(flush)
{
	STREAM(n, X86("clflush (%[a],%[i])\n") ARM("add x9, %[a], %[i]\ndc civac, x9\n"), w);
}
