/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asm - the loop around a kernel's body.
 *
 *	LOOP(n, X86("add %[a], %[a]\n") ARM("add %[a], %[a], %[a]\n"), [a] "+r"(a));
 *
 * It counts down: two instructions and a taken branch for each iteration. Operands are registers
 * of variables of the function, all of them in and out. A body may change all that SCRATCH names.
 * Of labels 1 is the loop's, and 9 is behind it: a body may have a LOOP_END and a jump to 9.
 *
 *	LAYOUTS(w, n, body, operands)
 *
 * The same in KERNEL_LAYOUTS copies that begin at other bytes of a line of 64: w->layout chooses.
 * The cost of a mispredict depends on the place of the code around it.
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
#define LOOP_AT(at, n_, body, ...)                                                           \
	__asm__ volatile(".p2align 6\n" X86(".fill " #at ", 1, 0x90\n")                      \
				 ARM(".rept " #at " / 4\nnop\n.endr\n") "1:\n" body LOOP_END \
									"9:\n"               \
			 : [n] "+r"(n_), __VA_ARGS__                                         \
			 :                                                                   \
			 : "memory", "cc", SCRATCH)
#else
#define HAVE_KERNELS		   0
#define X86(text)		   ""
#define ARM(text)		   ""
#define LOOP_AT(at, n_, body, ...) ((void)(n_))
#endif
#define LOOP(n_, body, ...) LOOP_AT(0, n_, body, __VA_ARGS__)
#define LAYOUT(at, n_, body, ...)                   \
	case (at) / 8:                              \
		LOOP_AT(at, n_, body, __VA_ARGS__); \
		break
#define LAYOUTS(w, n_, body, ...)                  \
	switch ((w)->layout % KERNEL_LAYOUTS) {    \
		LAYOUT(0, n_, body, __VA_ARGS__);  \
		LAYOUT(8, n_, body, __VA_ARGS__);  \
		LAYOUT(16, n_, body, __VA_ARGS__); \
		LAYOUT(24, n_, body, __VA_ARGS__); \
		LAYOUT(32, n_, body, __VA_ARGS__); \
		LAYOUT(40, n_, body, __VA_ARGS__); \
		LAYOUT(48, n_, body, __VA_ARGS__); \
		LAYOUT(56, n_, body, __VA_ARGS__); \
	}

#define TIMES_4(x)  x x x x
#define TIMES_16(x) TIMES_4(TIMES_4(x))

#endif
