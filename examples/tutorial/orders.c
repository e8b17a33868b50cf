/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four threads take orders; each writes a line to a log under a lock.
 *
 *	cc -O2 -g -o orders orders.c -lpthread && ./orders slow && ./orders fixed
 *
 * slow: the disk (here: a sleep of 2 ms) is written while the lock is held, so the threads
 * wait for one another.
 * fixed: a thread takes its line out under the lock, and writes it afterwards.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define THREADS	 4
#define ORDERS	 60

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long lines;
static int fixed;

NOINLINE static void write_to_disk(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

NOINLINE static void append_log(void)
{
	pthread_mutex_lock(&log_lock);
	lines++;
	if (!fixed)
		write_to_disk();
	pthread_mutex_unlock(&log_lock);
	if (fixed)
		write_to_disk();
}

static void *take_orders(void *arg)
{
	(void)arg;
	for (int i = 0; i < ORDERS; i++)
		append_log();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	fixed = argc > 1 && !strcmp(argv[1], "fixed");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, take_orders, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lu lines\n", lines);
	return 0;
}
