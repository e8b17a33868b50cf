/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate BYTES...: what cyclade calibrate measures, in another way: the list is an array of
 * offsets in C, shuffled as a permutation of one cycle by links, timed as a whole with the CPU's
 * clock of the process; branches follow the top bit of a multiplicative generator, against the same
 * loop with a bit that is always 0. Prints "latency BYTES NS" and "mispredict NS" lines, the least
 * of several runs: bench/calibrate.py compares.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64u
#define RUNS 7

struct line {
	uint64_t next;
	char rest[LINE - 8];
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Links lines in the order of a shuffled array. */
static int latency(size_t bytes)
{
	size_t n = bytes / LINE, huge = 2u << 20, room = (bytes + huge) / huge * huge;
	struct line *a = aligned_alloc(huge, room);
	uint32_t *order = calloc(n, sizeof(*order));
	uint64_t seed = 12345, at = 0, steps = n > 2000000 ? n : 2000000;
	double best = 1e300;

	if (!a || !order)
		return 1;
	(void)madvise(a, room, MADV_HUGEPAGE);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = xorshift(&seed) % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < n; i++)
		a[order[i]].next = (uint64_t)order[(i + 1) % n] * LINE;
	for (int run = 0; run < RUNS; run++) {
		double t = now();

		for (uint64_t i = 0; i < steps; i++)
			at = *(const uint64_t *)(const void *)((const char *)a + at);
		t = (now() - t) / (double)steps;
		best = t < best ? t : best;
	}
	printf("latency %zu %.4f %s\n", bytes, best, at == UINT64_MAX ? "!" : "");
	free(order);
	free(a);
	return 0;
}

static volatile uint64_t sink;

static double branches(uint64_t mask)
{
	uint64_t x = 88172645463325252u, steps = 20000000;
	double best = 1e300;

	for (int run = 0; run < RUNS; run++) {
		double t = now();

		for (uint64_t i = 0; i < steps; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			if (x >> 63 & mask)
				sink = i;
		}
		t = (now() - t) / (double)steps;
		best = t < best ? t : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	volatile uint64_t zero = 0, one = 1;

	for (int i = 1; i < argc; i++)
		if (latency(strtoull(argv[i], NULL, 10)))
			return 1;
	printf("mispredict %.4f\n", 2 * (branches(one) - branches(zero)));
	return 0;
}
