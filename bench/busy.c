/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * busy - the same work every time, on N threads: short functions below a recursion 16 deep, so that
 * a call chain has something to walk. What a recorder costs is how much longer it takes.
 *
 *	busy THREADS MILLIONS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 256
#define DEPTH	    16

static uint64_t rounds;

static __attribute__((noinline)) uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 64; i++)
		x = (x ^ x >> 29) * 0x9e3779b97f4a7c15ULL + (unsigned)i;
	return x;
}

static __attribute__((noinline)) uint64_t down(uint64_t x, int depth)
{
	uint64_t y = mix(x);

	/* the sum after the call keeps it a call */
	return depth ? down(y, depth - 1) + y : y;
}

static void *work(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < rounds; i++)
		x = down(x, DEPTH - 1);
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t t[MAX_THREADS];
	uintptr_t sum = 0;

	if (threads < 1 || threads > MAX_THREADS) {
		(void)fprintf(stderr, "usage: busy THREADS MILLIONS\n");
		return 2;
	}
	/* in millions of mix() */
	rounds = strtoull(argv[2], NULL, 10) * 1000000 / DEPTH;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)((uintptr_t)i + 1)))
			return 1;
	for (int i = 0; i < threads; i++) {
		void *one;

		(void)pthread_join(t[i], &one);
		sum += (uintptr_t)one;
	}
	(void)printf("%lx\n", (unsigned long)sum);
	return 0;
}
