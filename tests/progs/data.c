/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data - variables, types and an allocation that recordings made of bytes say are accessed
 * (tests/lib/memory_made.py). Nothing depends on what it does when it runs.
 */
#include <stdlib.h>

struct account {
	long balance;
	char name[64];
	long visits;
};

static volatile struct account accounts[64];
static volatile long counters[8];
static volatile long lock;

__attribute__((noinline)) static long *make_table(size_t n)
{
	long *table = calloc(n, sizeof(*table));

	return table;
}

__attribute__((noinline)) static void visit(size_t i)
{
	accounts[i % 64].balance += 1;
	accounts[i % 64].visits += 1;
	counters[i % 8] += 1;
}

int main(int argc, char **argv)
{
	long *table = make_table(1024);

	(void)argv;
	for (size_t i = 0; table && i < (size_t)argc * 1000; i++) {
		visit(i);
		lock = lock + table[i % 1024];
		accounts[i % 64].name[i % 64] = 1;
	}
	free(table);
	return 0;
}
