/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels without memory: the loop alone, chains in which each result needs the one before.
 */
#include "kernels/asm.h"
#include "kernels/run.h"

RUN(empty)
{
	uint64_t unused = (uint64_t)(uintptr_t)w;

	LOOP(n, "", [a] "+r"(unused));
}

/* Of registers, not of constants: these some CPUs fold before they execute. */
RUN(add)
{
	uint64_t a = (uint64_t)(uintptr_t)w;

	LOOP(n, TIMES_16(X86("add %[a], %[a]\n") ARM("add %[a], %[a], %[a]\n")), [a] "+r"(a));
}

/* The dividend is always large: the time of a division depends on it. */
RUN(divide)
{
	uint64_t a = (uint64_t)(uintptr_t)w, by = 0x10003, large = UINT64_C(0x7fff) << 48;

	LOOP(n,
	     X86("mov %[a], %%rax\nor %[c], %%rax\nxor %%edx, %%edx\ndiv %[by]\nmov %%rax, %[a]\n")
		     ARM("orr %[a], %[a], %[c]\nudiv %[a], %[a], %[by]\n"),
	     [a] "+r"(a), [by] "+r"(by), [c] "+r"(large));
}

RUN(multiply)
{
	uint64_t a = (uint64_t)(uintptr_t)w | 1;

	LOOP(n, X86("imul %[a], %[a]\n") ARM("mul %[a], %[a], %[a]\n"), [a] "+r"(a));
}

/* All read one register, and none another's result: only the port that multiplies is short. */
RUN(port)
{
	uint64_t a = (uint64_t)(uintptr_t)w | 1;

	LOOP(n, TIMES_16(X86("imul $3, %[a], %%rax\n") ARM("mul x9, %[a], %[a]\n")), [a] "+r"(a));
}

/* Values stay near 1 with all their digits: the time of some operations depends on them. */
#define NEAR_1 1.0000000000000002
#if defined(__x86_64__)
#define FLOAT "+x"
#else
#define FLOAT "+w"
#endif

RUN(float_add)
{
	double a = NEAR_1, by = (double)((uintptr_t)w & 0);

	LOOP(n, X86("addsd %[by], %[a]\n") ARM("fadd %d[a], %d[a], %d[by]\n"), [a] FLOAT(a),
	     [by] FLOAT(by));
}

RUN(float_multiply)
{
	double a = NEAR_1, by = NEAR_1;

	(void)w;
	LOOP(n, X86("mulsd %[by], %[a]\n") ARM("fmul %d[a], %d[a], %d[by]\n"), [a] FLOAT(a),
	     [by] FLOAT(by));
}

RUN(float_divide)
{
	double a = NEAR_1, by = NEAR_1;

	(void)w;
	LOOP(n, X86("divsd %[by], %[a]\n") ARM("fdiv %d[a], %d[a], %d[by]\n"), [a] FLOAT(a),
	     [by] FLOAT(by));
}
