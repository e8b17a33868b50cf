/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts random numbers by quicksort.
 *
 *	cc -O1 -g -o sort sort.c && ./sort slow && ./sort fixed
 *
 * slow: the partition branches on each comparison; on random numbers the CPU guesses half
 * of them wrong.
 * fixed: the partition moves every number and adds the comparison's result (0 or 1) to the
 * place: no branch to guess.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define NUMBERS	 (1 << 16)

NOINLINE static size_t partition_branchy(uint32_t *a, size_t n)
{
	uint32_t pivot = a[n / 2];
	size_t place = 0;

	a[n / 2] = a[n - 1];
	a[n - 1] = pivot;
	for (size_t i = 0; i < n - 1; i++) {
		uint32_t x = a[i];

		if (x < pivot) {
			a[i] = a[place];
			a[place++] = x;
		}
	}
	a[n - 1] = a[place];
	a[place] = pivot;
	return place;
}

NOINLINE static size_t partition_branchless(uint32_t *a, size_t n)
{
	uint32_t pivot = a[n / 2];
	size_t place = 0;

	a[n / 2] = a[n - 1];
	a[n - 1] = pivot;
	for (size_t i = 0; i < n - 1; i++) {
		uint32_t x = a[i];

		a[i] = a[place];
		a[place] = x;
		place += x < pivot;
	}
	a[n - 1] = a[place];
	a[place] = pivot;
	return place;
}

static void sort_numbers(uint32_t *a, size_t n, int fixed)
{
	if (n < 2)
		return;
	size_t left = fixed ? partition_branchless(a, n) : partition_branchy(a, n);

	sort_numbers(a, left, fixed);
	sort_numbers(a + left + 1, n - left - 1, fixed);
}

int main(int argc, char **argv)
{
	int fixed = argc > 1 && !strcmp(argv[1], "fixed");
	uint32_t *a = malloc(NUMBERS * sizeof(*a)), x = 2463534242u;

	if (!a)
		return 1;
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < NUMBERS; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			a[i] = x;
		}
		sort_numbers(a, NUMBERS, fixed);
	}
	for (int i = 1; i < NUMBERS; i++)
		if (a[i - 1] > a[i])
			return 1;
	puts("sorted");
	free(a);
	return 0;
}
