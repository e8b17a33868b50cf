/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A structure with three hot fields among cold ones; with -DSPLIT they are a structure of their
 * own, with -DORDER the first ones of theirs. Prints where its objects are: "array ADDRESS BYTES
 * OBJECTS".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { OBJECTS = 1024 };

struct cold {
	char name[56];
};

#ifdef SPLIT
struct wide {
	long key, uses;
	double weight;
};
#elif defined(ORDER)
struct wide {
	long key, uses;
	double weight;
	struct cold first, second, third;
	char pad[8];
};
#else
struct wide {
	long key;
	struct cold first;
	char pad[8];
	long uses;
	struct cold second;
	double weight;
	struct cold third;
};
#endif

__attribute__((noinline)) static double work(struct wide *w, long n)
{
	double sum = 0;

	for (long i = 0; i < n; i++) {
		w[i].uses += w[i].key;
		sum += w[i].weight;
	}
	return sum;
}

int main(void)
{
	struct wide *w = calloc(OBJECTS, sizeof(*w));
	double sum = 0;

	for (int i = 0; w && i < 12; i++)
		sum += work(w, OBJECTS);
	printf("array %lx %zu %d\n", (unsigned long)(uintptr_t)w, OBJECTS * sizeof(*w), OBJECTS);
	return !w || sum > 0;
}
