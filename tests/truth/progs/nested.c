/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops in loops. of_three(): 7 times 5 times 40 each call. triangle(): an inner loop of 0 to 19
 * trips. while_loop(): as many trips as a number has factors of two.
 */
#include <stdio.h>

#include "truth.h"

NOINLINE static unsigned of_three(unsigned x)
{
	for (unsigned i = 0; i < 7; i++) {
		for (unsigned j = 0; j < 5; j++) {
			for (unsigned k = 0; k < 40; k++) {
				x = x * 3 + k;
				KEEP;
			}
			KEEP;
		}
		x ^= i;
		KEEP;
	}
	return x;
}

NOINLINE static unsigned triangle(unsigned x)
{
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned j = 0; j < i; j++) {
			x += j ^ i;
			KEEP;
		}
		KEEP;
	}
	return x;
}

NOINLINE static unsigned while_loop(unsigned x)
{
	unsigned n = 0;

	while (!(x & 1)) {
		x >>= 1;
		n++;
		KEEP;
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 600), x = 1;

	for (unsigned i = 0; i < n; i++) {
		x = of_three(x);
		x += triangle(x);
		for (unsigned k = 1; k <= 64; k++)
			x += while_loop(i * 64 + k);
	}
	printf("%u\n", x);
	return 0;
}
