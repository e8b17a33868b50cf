/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of one name: work() of this file and of twins_a.c, which lines tell apart, and shared()
 * of the header in both, which addresses do.
 */
#include <stdio.h>

#include "truth.h"
#include "twins.h"

unsigned other(unsigned x);

NOINLINE static unsigned work(unsigned x)
{
	for (unsigned i = 0; i < 20; i++) {
		x = x * 3 + i;
		KEEP;
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 4000), x = 1;

	for (unsigned i = 0; i < n; i++) {
		x += work(x);
		x += shared(x);
		x += other(x);
		x += other(x);
	}
	printf("%u\n", x);
	return 0;
}
