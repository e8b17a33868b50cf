/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual calls into two shared objects, which call one another: every call from one to the other
 * goes through a trampoline, each of which is bound when it is first used.
 */
#include <stdio.h>

#include "shape.h"
#include "truth.h"

#define N 64

static struct shape all[N];

NOINLINE static unsigned visit(unsigned x)
{
	for (unsigned i = 0; i < N; i++) {
		x += i % 3 ? shape_score(&all[i]) : shape_area(&all[i]);
		KEEP;
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 600), x = 0;
	uint32_t seed = 99;

	for (unsigned i = 0; i < N; i++) {
		uint32_t r = next_random(&seed);

		if (r >> 5 & 1)
			square_make(&all[i], r % 50);
		else
			ring_make(&all[i], 9 + r % 3, r >> 8 & 7);
	}
	for (unsigned i = 0; i < n; i++)
		x = visit(x);
	printf("%u\n", x);
	return 0;
}
