/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads count words, each in a counter of its own.
 *
 *	cc -O2 -g -o counters counters.c -lpthread && ./counters slow && ./counters fixed
 *
 * slow: both counters lie in one cache line, which the CPUs take from each other at each
 * addition (false sharing).
 * fixed: each counter has a cache line of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define TURNS	 5000000
#define LINE	 128 /* two lines: CPUs fetch them in pairs */

struct tally {
	unsigned long words;
};

static union {
	struct tally packed[2];
	char apart[2][LINE];
} tallies __attribute__((aligned(LINE)));
static int fixed;

NOINLINE static void count_words(unsigned long *words)
{
	for (int i = 0; i < TURNS; i++)
		__atomic_fetch_add(words, 1, __ATOMIC_RELAXED);
}

static void *worker(void *arg)
{
	long n = (long)arg;

	count_words(fixed ? (unsigned long *)(void *)tallies.apart[n] : &tallies.packed[n].words);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	fixed = argc > 1 && !strcmp(argv[1], "fixed");
	for (long n = 0; n < 2; n++)
		if (pthread_create(&thread[n], NULL, worker, (void *)n))
			return 1;
	for (int n = 0; n < 2; n++)
		pthread_join(thread[n], NULL);
	puts("counted");
	return 0;
}
