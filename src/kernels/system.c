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
