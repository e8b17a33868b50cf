/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads and memory of theirs, one pattern at a time: the first argument names it. The threads
 * meet at a barrier after each round, so that neither is done before the other begins.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINE   __attribute__((aligned(64)))
#define PAIR   __attribute__((aligned(128)))
#define WIDE   (128 / sizeof(long)) /* what is alone in its pair of lines, wherever that starts */
#define ROUNDS 40
#define TURNS  200

static long total[WIDE] PAIR;	/* both add to its first */
static long columns[WIDE] PAIR; /* each has every second one of eight */
static long table[WIDE] PAIR;	/* both read its first eight */
static struct {
	long n LINE;
} padded[2] PAIR; /* each has a line of its own */
static struct {
	int word;
	long guarded;
	long rest[WIDE - 2];
} lock PAIR; /* a spin lock and what it guards */
static struct {
	long n[8];
} pair[2] PAIR; /* neighbouring lines, in one pair of 128 bytes */
static struct {
	long n;
} * heap; /* columns again, but from malloc */

static pthread_barrier_t round_end;
static long sink[64] PAIR;

static void add_total(long me, long i)
{
	(void)me;
	(void)i;
	*(volatile long *)&total[0] += 1;
}

static void add_column(long me, long i)
{
	*(volatile long *)&columns[2 * (i & 3) + me] += 1;
}

static void read_table(long me, long i)
{
	sink[32 * me] += *(volatile long *)&table[(me + i) & 7];
}

static void add_padded(long me, long i)
{
	(void)i;
	*(volatile long *)&padded[me].n += 1;
}

static void take_lock(long me, long i)
{
	(void)me;
	(void)i;
	while (__atomic_exchange_n(&lock.word, 1, __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&lock.word, 0, __ATOMIC_RELEASE);
}

static void add_pair(long me, long i)
{
	*(volatile long *)&pair[me].n[i & 7] += 1;
}

static void add_heap(long me, long i)
{
	*(volatile long *)&heap[2 * (i & 3) + me].n += 1;
}

static const struct {
	const char *name;
	void (*step)(long me, long i);
} patterns[] = {
	{ "true", add_total },	  { "false", add_column }, { "read", read_table },
	{ "padded", add_padded }, { "lock", take_lock },   { "pair", add_pair },
	{ "heap", add_heap },
};
static void (*step)(long me, long i);

static void *run(void *arg)
{
	long me = arg != NULL;

	for (long r = 0; r < ROUNDS; r++) {
		for (long i = 0; i < TURNS; i++)
			step(me, i);
		(void)pthread_barrier_wait(&round_end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	for (size_t i = 0; argc > 1 && i < sizeof(patterns) / sizeof(*patterns); i++)
		if (!strcmp(argv[1], patterns[i].name))
			step = patterns[i].step;
	heap = aligned_alloc(64, 64);
	if (!step || !heap || pthread_barrier_init(&round_end, NULL, 2) ||
	    pthread_create(&other, NULL, run, total))
		return 1;
	(void)run(NULL);
	return pthread_join(other, NULL);
}
