/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop that copies every other element and takes the square root of the rest: samples of
 * instructions fall on the square root, although both sides run equally often. A second loop
 * takes the root of one in eight, at random.
 */
#include <math.h>
#include <stdio.h>

#include "truth.h"

#define N 1000

static double from[N], to[N];
static uint32_t draw[N];

NOINLINE static void alternate(void)
{
	for (unsigned i = 0; i < N; i++) {
		if (i & 1) {
			KEEP;
			to[i] = from[i];
		} else {
			KEEP;
			to[i] = sqrt(from[i]);
		}
	}
}

NOINLINE static unsigned one_in_eight(void)
{
	unsigned roots = 0;

	for (unsigned i = 0; i < N; i++) {
		if (draw[i] & 7) {
			KEEP;
			to[i] += from[i];
		} else {
			KEEP;
			to[i] = sqrt(from[i]);
			roots++;
		}
	}
	return roots;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 500), roots = 0;
	uint32_t seed = 77;
	double sum = 0;

	for (unsigned i = 0; i < N; i++)
		from[i] = i;
	for (unsigned k = 0; k < n; k++) {
		for (unsigned i = 0; i < N; i++)
			draw[i] = next_random(&seed) >> 9;
		alternate();
		roots += one_in_eight();
		sum += to[k % N];
	}
	printf("%.3f %u\n", sum, roots);
	return 0;
}
