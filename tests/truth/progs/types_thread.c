/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thread-local variables, in two threads. With -DLIBRARY the half that is in a library, which gets
 * to its own ones in other ways. Prints what types.c prints.
 */
#include <stddef.h>
#include <stdio.h>

struct slot {
	long key, uses;
	struct slot *next;
	double weight;
};

#ifdef LIBRARY

__thread struct slot shown;
static __thread struct slot hidden;
static __thread int calls;

long far_use(long by)
{
	hidden.uses += by;
	hidden.weight *= 1.5;
	calls++;
	return shown.key += by + hidden.key;
}

#else

#include <pthread.h>

static __thread struct slot mine;
__thread struct slot *last;
static __thread long total;
long far_use(long by);

__attribute__((noinline)) static long use(long n)
{
	mine.key += n;
	total += mine.key;
	last->uses++;
	last->next = last;
	return total;
}

static long rounds = 10;

static void *work(void *arg)
{
	long sum = 0;

	last = &mine;
	for (long i = 0; i < rounds; i++)
		sum += use(i) + far_use(i);
	printf("object slot %lx 1\nobject total %lx 1\nobject last %lx 1\n", (unsigned long)&mine,
	       (unsigned long)&total, (unsigned long)&last);
	*(long *)arg = sum;
	return NULL;
}

int main(void)
{
	pthread_t other;
	long sum[2];

	printf("stack %lx\n", (unsigned long)sum);
	if (pthread_create(&other, NULL, work, &sum[0]) || pthread_join(other, NULL))
		return 1;
	rounds = 4000;
	work(&sum[1]);
	printf("field slot 32 0 8 struct~slot key\nfield slot 32 8 8 struct~slot uses\nfield slot "
	       "32 16 8 struct~slot next\n"
	       "field slot 32 24 8 struct~slot weight\nfield total 8 0 8 long~int \nfield last 8 0 "
	       "8 struct~slot~* \n");
	return sum[0] == sum[1];
}

#endif
