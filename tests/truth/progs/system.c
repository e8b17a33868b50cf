/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls in the midst of code. ask(): a branch, a call of the kernel, a branch; every third
 * time the kernel is not asked.
 */
#include <stdio.h>

#include "truth.h"

NOINLINE static long ask(unsigned i)
{
	long got = 110; /* getppid */

	if (i % 3) {
		__asm__ volatile("syscall" : "+a"(got) : : "rcx", "r11", "memory");
		KEEP;
	}
	if (got > 1)
		KEEP;
	return got > 0;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 20000);
	long sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += ask(i);
	printf("%ld\n", sum);
	return 0;
}
