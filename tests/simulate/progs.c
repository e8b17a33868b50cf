/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that are bound by one thing, by construction: `progs NAME N`. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define LOOP __attribute__((noinline))
#else
#define LOOP __attribute__((noinline, noclone))
#endif

struct link {
	struct link *next;
	long pad[7];
};

static uint64_t sink;

LOOP static void chain(long n) /* a cycle each, whatever the width */
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++)
		__asm__ volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\t"
				 "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0"
				 : "+r"(x));
	sink += x;
}

LOOP static void multiply(long n) /* the latency of imul each */
{
	uint64_t x = 3;

	for (long i = 0; i < n; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
				 : "+r"(x));
	sink += x;
}

LOOP static void wide(long n) /* as many as there are slots */
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
				 "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop");
}

LOOP static void divide(long n)
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++) {
		uint64_t d = 0, a = x;

		__asm__ volatile("div %2" : "+a"(a), "+d"(d) : "r"((uint64_t)3) : "cc");
		x = a + 7;
	}
	sink += x;
}

LOOP static void guess(long n) /* half of the branches go the other way */
{
	uint64_t x = 88172645463325252u, s = 0;

	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("test $1, %b1\n\tjz 1f\n\tadd $3, %0\n1:"
				 : "+r"(s)
				 : "r"(x)
				 : "cc");
	}
	sink += s;
}

LOOP static void follow(struct link *p, long n)
{
	while (n--)
		p = p->next;
	sink += (uintptr_t)p;
}

/* A ring of so many lines, in an order that nothing foresees. */
static struct link *make_ring(size_t n)
{
	struct link *v = calloc(n, sizeof(*v));
	size_t *order = calloc(n, sizeof(*order)), seed = 1;

	if (!v || !order)
		exit(3);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n - 1; i; i--) {
		size_t k, t = order[i];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (seed >> 33) % (i + 1);
		order[i] = order[k];
		order[k] = t;
	}
	for (size_t i = 0; i < n; i++)
		v[order[i]].next = &v[order[(i + 1) % n]];
	free(order);
	return v;
}

LOOP static void forward(long n) /* through memory, each time */
{
	volatile uint64_t at = 0;

	for (long i = 0; i < n; i++)
		at = at + 1;
}

LOOP static int recurse(int n)
{
	return n ? recurse(n - 1) + 1 : 0;
}

LOOP static void inner(long n)
{
	chain(n);
	__asm__ volatile(""); /* a call, no jump */
}

LOOP static void outer(long n)
{
	inner(n);
	__asm__ volatile("");
}

static void *work(void *n)
{
	chain(*(long *)n);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(what, "chain"))
		chain(n);
	else if (!strcmp(what, "multiply"))
		multiply(n);
	else if (!strcmp(what, "wide"))
		wide(n);
	else if (!strcmp(what, "divide"))
		divide(n);
	else if (!strcmp(what, "guess"))
		guess(n);
	else if (!strcmp(what, "l1"))
		follow(make_ring(256), n);
	else if (!strcmp(what, "l2"))
		follow(make_ring(2048), n);
	else if (!strcmp(what, "l3"))
		follow(make_ring(65536), n);
	else if (!strcmp(what, "forward"))
		forward(n);
	else if (!strcmp(what, "recurse"))
		sink += (uint64_t)recurse((int)n);
	else if (!strcmp(what, "calls"))
		outer(n);
	else if (!strcmp(what, "exit"))
		return (int)n;
	else if (!strcmp(what, "signal"))
		raise((int)n);
	else if (!strcmp(what, "fork")) {
		if (!fork())
			_exit(0);
	} else if (!strcmp(what, "threads")) {
		pthread_t t[3];

		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, work, &n);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
	}
	return sink == 12345;
}
