/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd - THREADS (10,000) threads, at most ALIVE (64) at a time, that each work a little in
 * `toil`. Every tenth is named "crowd-K", K from 0 to 9.
 *
 *	usage: crowd [THREADS [ALIVE]]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void toil(void)
{
	for (unsigned long i = 0; i < 30000; i++)
		sink += i;
}

static void *work(void *arg)
{
	unsigned long number = (unsigned long)arg;
	char name[16];

	if (number % 10 == 0) {
		(void)snprintf(name, sizeof(name), "crowd-%lu", number / 10 % 10);
		(void)pthread_setname_np(pthread_self(), name);
	}
	toil();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	unsigned long alive = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
	pthread_t *t = calloc(alive ? alive : 1, sizeof(*t));
	unsigned long started = 0;

	if (!t || !alive)
		return 2;
	for (unsigned long i = 0; i < n; i++) {
		if (i >= alive)
			(void)pthread_join(t[i % alive], NULL);
		if (pthread_create(&t[i % alive], NULL, work, (void *)i)) {
			perror("pthread_create");
			return 1;
		}
		started++;
	}
	for (unsigned long i = started > alive ? started - alive : 0; i < started; i++)
		(void)pthread_join(t[i % alive], NULL);
	free(t);
	return 0;
}
