/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads, each with its own handle of the same region; a metric of it by name.
 *
 *	cc -O2 workers.c $(pkg-config --cflags --libs cyclade) -lpthread -o workers && ./workers
 */
#include <cyclade.h>
#include <pthread.h>
#include <stdio.h>

#define WORKERS 4

static struct cyclade_set *set;
static unsigned long sums[WORKERS];

static void *work(void *arg)
{
	struct cyclade_region *r = cyclade_handle(set, "work");
	unsigned long *sum = arg;

	for (int i = 0; i < 50; i++) {
		cyclade_begin(r);
		for (unsigned k = 1; k < 200000; k++)
			*sum += k % (unsigned)(i + 3);
		cyclade_end(r);
	}
	return NULL;
}

int main(void)
{
	struct cyclade_open_opts opts = { .size = sizeof(opts), .metrics = "ipc,instructions" };
	struct cyclade_error error = { .size = sizeof(error) };
	struct cyclade_report_opts report = { .size = sizeof(report), .per_thread = 1, .fd = 1 };
	struct cyclade_value value = { .size = sizeof(value) };
	pthread_t thread[WORKERS];

	if (cyclade_open(&set, &opts, &error)) {
		fprintf(stderr, "%s\n%s\n", error.what, error.hint);
		return 1;
	}
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&thread[i], NULL, work, &sums[i]))
			return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	cyclade_report(set, &report);
	if (!cyclade_read(set, "work", "ipc", CYCLADE_ALL_THREADS, &value) &&
	    value.why == CYCLADE_OK)
		printf("instructions per cycle: %.2f\n", value.value);
	cyclade_close(set);
	return 0;
}
