/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs of begin and end with an instruction that runs anywhere (rdtsc) in the place of rdpmc, for
 * test_cost.py to count what they execute, call and allocate:
 *
 *	pair READS FIELDS COUNT [TICK]	on pages made up here; PERF_METRICS anew after TICK cycles
 *	pair open COUNT			a set as anybody opens it
 *
 * Between two calls of getppid() nothing else happens. Prints how often memory was asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static unsigned long asked;

void *malloc(size_t n)
{
	asked++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	asked++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	asked++;
	return __libc_realloc(p, n);
}

static unsigned long pairs(struct cyclade_region *r, unsigned long n)
{
	unsigned long before = asked;

	(void)getppid();
	for (unsigned long i = 0; i < n; i++) {
		cyclade_begin(r);
		cyclade_end(r);
	}
	(void)getppid();
	return asked - before;
}

static struct fake f;

static unsigned long made_up(char **argv, int argc)
{
	unsigned long fields = strtoul(argv[2], NULL, 0);

	fake_open(&f, strtoul(argv[1], NULL, 0), fields);
	if (argc > 4) {
		f.t->tick = strtoul(argv[4], NULL, 0);
		f.t->next = 0;
		f.t->reset_fd = fields ? STDERR_FILENO : -1;
	}
	return pairs(fake_region(&f), strtoul(argv[3], NULL, 0));
}

static unsigned long opened(char **argv)
{
	struct cyclade_set *set;
	unsigned long n;

	if (cyclade_open(&set, NULL, NULL))
		return 1;
	n = pairs(cyclade_handle(set, "pair"), strtoul(argv[2], NULL, 0));
	cyclade_close(set);
	return n;
}

int main(int argc, char **argv)
{
	unsigned long n = 0;

	if (argc > 3)
		n = made_up(argv, argc);
	else if (argc > 2)
		n = opened(argv);
	printf("allocations %lu\n", n);
	return 0;
}
