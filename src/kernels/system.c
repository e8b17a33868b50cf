/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that enter the operating system's.
 */
#include <sys/syscall.h>

#include "kernels/asm.h"
#include "kernels/run.h"

RUN(syscall)
{
	uint64_t number = SYS_getppid;

	(void)w;
	LOOP(n, X86("mov %[a], %%rax\nsyscall\n") ARM("mov x8, %[a]\nsvc #0\n"), [a] "+r"(number));
}

/* Gives the page a back (MADV_DONTNEED is 4), then touches b: a fault if it is in that page. */
RUN(touch)
{
	uint64_t number = SYS_madvise;
	char *a = w->a, *b = w->b;

	LOOP(n,
	     X86("mov %[number], %%rax\nmov %[a], %%rdi\nmov $4096, %%esi\nmov $4, %%edx\nsyscall\n"
		 "movb $1, (%[b])\n")
		     ARM("mov x8, %[number]\nmov x0, %[a]\nmov x1, #4096\nmov x2, #4\nsvc #0\n"
			 "strb w2, [%[b]]\n"),
	     [number] "+r"(number), [a] "+r"(a), [b] "+r"(b));
}

RUN(sleep)
{
	uint64_t number = SYS_nanosleep;
	char *a = w->a;

	LOOP(n,
	     X86("mov %[number], %%rax\nmov %[a], %%rdi\nxor %%esi, %%esi\nsyscall\n")
		     ARM("mov x8, %[number]\nmov x0, %[a]\nmov x1, #0\nsvc #0\n"),
	     [number] "+r"(number), [a] "+r"(a));
}

/* By turns to the CPUs of the two sets. */
RUN(migrate)
{
	uint64_t number = SYS_sched_setaffinity;
	char *a = w->a;

	LOOP(n,
	     X86("mov %[number], %%rax\nxor %%edi, %%edi\nmov $128, %%esi\nmov %[a], "
		 "%%rdx\nsyscall\n"
		 "xor $128, %[a]\n")
		     ARM("mov x8, %[number]\nmov x0, #0\nmov x1, #128\nmov x2, %[a]\nsvc #0\n"
			 "eor %[a], %[a], #128\n"),
	     [number] "+r"(number), [a] "+r"(a));
}
