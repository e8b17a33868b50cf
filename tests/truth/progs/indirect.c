/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indirect calls and jumps: operations in a table, some much more often than others; tail calls
 * through a table; and a switch that becomes a table of jumps.
 */
#include <stdio.h>

#include "truth.h"

typedef unsigned op_fn(unsigned x, unsigned y);

NOINLINE static unsigned op_add(unsigned x, unsigned y)
{
	return x + y;
}

NOINLINE static unsigned op_mul(unsigned x, unsigned y)
{
	return x * (y | 1);
}

NOINLINE static unsigned op_mix(unsigned x, unsigned y)
{
	for (unsigned i = 0; i < 3; i++) {
		x ^= y >> i;
		KEEP;
	}
	return x;
}

NOINLINE static unsigned op_rare(unsigned x, unsigned y)
{
	return x - y;
}

static op_fn *volatile const table[] = { op_add, op_add, op_add, op_add,
					 op_add, op_mul, op_mix, op_rare };

NOINLINE static unsigned tail(unsigned x, unsigned y)
{
	return table[y & 7](x, y);
}

NOINLINE static unsigned by_switch(unsigned x, unsigned y)
{
	switch (y % 6) {
	case 0:
		KEEP;
		return x + 1;
	case 1:
		KEEP;
		return x ^ y;
	case 2:
		KEEP;
		return x * 5;
	case 3:
		KEEP;
		return x - y;
	case 4:
		KEEP;
		return x << 1 | x >> 31;
	default:
		KEEP;
		return ~x;
	}
}

NOINLINE static unsigned round_of(unsigned x, uint32_t *seed)
{
	for (unsigned i = 0; i < 100; i++) {
		uint32_t r = next_random(seed);

		x = table[r >> 8 & 7](x, r);
		if (i % 4 == 0)
			x = tail(x, r >> 16);
		x = by_switch(x, r >> 4);
		KEEP;
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 1000), x = 1;
	uint32_t seed = 1234567;

	for (unsigned i = 0; i < n; i++)
		x = round_of(x, &seed);
	printf("%u\n", x);
	return 0;
}
