/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asm - the loop around a kernel's body.
 *
 *	LOOP(n, X86("add %[a], %[a]\n") ARM("add %[a], %[a], %[a]\n"), [a] "+r"(a));
 *
 * It counts down: two instructions and a taken branch for each iteration. Operands are registers
 * of variables of the function, all of them in and out. A body may change all that SCRATCH names.
 * Of labels 1 is the loop's.
 */
#ifndef CYCLADE_KERNELS_ASM_H
#define CYCLADE_KERNELS_ASM_H

#if defined(__x86_64__)
#define X86(text) text
#define ARM(text) ""
#define LOOP_END  "dec %[n]\njnz 1b\n"
#define SCRATCH	  "rax", "rcx", "rdx", "rsi", "rdi", "r11", "xmm0", "xmm1", "xmm2", "xmm3"
#elif defined(__aarch64__)
#define X86(text) ""
#define ARM(text) text
#define LOOP_END  "subs %[n], %[n], #1\nb.ne 1b\n"
#define SCRATCH	  "x0", "x1", "x2", "x8", "x9", "x10", "x11", "x30", "v0", "v1", "v2", "v3"
#endif

#ifdef SCRATCH
#define HAVE_KERNELS 1
#define LOOP(n_, body, ...)                               \
	__asm__ volatile(".p2align 6\n1:\n" body LOOP_END \
			 : [n] "+r"(n_), __VA_ARGS__      \
			 :                                \
			 : "memory", "cc", SCRATCH)
#else
#define HAVE_KERNELS	    0
#define X86(text)	    ""
#define ARM(text)	    ""
#define LOOP(n_, body, ...) ((void)(n_))
#endif

#define TIMES_4(x)  x x x x
#define TIMES_16(x) TIMES_4(TIMES_4(x))

#endif
