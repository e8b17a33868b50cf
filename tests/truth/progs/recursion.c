/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursion: straight down 300 deep, which no stack of branches holds; a tree; two functions that
 * call each other by turns; and Fibonacci, which calls itself from two places.
 */
#include <stdio.h>

#include "truth.h"

NOINLINE static unsigned down(unsigned n)
{
	unsigned r;

	if (!n)
		return 1;
	r = down(n - 1);
	KEEP;
	return r * 3 + n;
}

NOINLINE static unsigned fibonacci(unsigned n)
{
	unsigned a, b;

	if (n < 2)
		return n;
	a = fibonacci(n - 1);
	KEEP;
	b = fibonacci(n - 2);
	KEEP; /* no tail call */
	return a + b;
}

NOINLINE static unsigned odd(unsigned n);

NOINLINE static unsigned even(unsigned n)
{
	unsigned r;

	if (!n)
		return 1;
	r = odd(n - 1);
	KEEP;
	return r + 1;
}

NOINLINE static unsigned odd(unsigned n)
{
	unsigned r;

	if (!n)
		return 0;
	r = even(n - 1);
	KEEP;
	return r + 2;
}

struct node {
	struct node *child[2];
	unsigned value;
};
static struct node nodes[1023];

NOINLINE static unsigned walk(const struct node *t)
{
	unsigned sum;

	if (!t)
		return 0;
	sum = walk(t->child[0]) + t->value;
	KEEP;
	sum += walk(t->child[1]);
	KEEP;
	return sum;
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 100), sum = 0;

	for (unsigned i = 0; i < 1023; i++) {
		nodes[i].value = i;
		for (unsigned k = 0; k < 2; k++)
			nodes[i].child[k] = 2 * i + 1 + k < 1023 ? &nodes[2 * i + 1 + k] : NULL;
	}
	for (unsigned i = 0; i < n; i++)
		sum += down(300) + fibonacci(14) + even(60 + i % 2) + walk(nodes);
	printf("%u\n", sum);
	return 0;
}
