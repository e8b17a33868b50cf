/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases - a program whose time is known: three kinds of work, given 50, 30 and 20 % of its CPU
 * time.
 *
 * It works in turns of about a millisecond. Before each turn it asks the kernel for the CPU time
 * its thread has used, books the last turn under its kind, and gives the next turn to the kind that
 * is furthest behind its quota. So the proportions hold by the thread's own clock, independent of
 * any profiler, at any speed of the machine. At the end it prints what each kind really got.
 *
 *	usage: phases [SECONDS]		2 by default
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN_NS 1000000

static uint32_t table[1 << 20];
static char text[1 << 12];
static volatile uint64_t sink;

/* Looks keys up in a table far larger than the caches: waits for memory. */
__attribute__((noinline)) static void hash_probe(unsigned rounds)
{
	uint64_t key = sink | 1, hits = 0;

	for (unsigned i = 0; i < rounds * 256; i++) {
		key ^= key << 13;
		key ^= key >> 7;
		key ^= key << 17;
		hits += table[key & 0xfffff] == (uint32_t)key;
	}
	sink += key + hits;
}

/* Reads numbers out of comma-separated text: branches that are hard to foresee. */
__attribute__((noinline)) static void parse_rows(unsigned rounds)
{
	uint64_t sum = 0;

	while (rounds--) {
		uint64_t v = 0;

		for (const char *s = text; *s; s++) {
			if (*s >= '0' && *s <= '9') {
				v = v * 10 + (uint64_t)(*s - '0');
			} else {
				sum += v;
				v = 0;
			}
		}
	}
	sink += sum;
}

/* A polynomial over floating point numbers: plain arithmetic. */
__attribute__((noinline)) static void evaluate(unsigned rounds)
{
	double x = 0.5, y = 0;

	for (unsigned i = 0; i < rounds * 512; i++) {
		y = ((((y * x + 1.25) * x - 0.75) * x + 0.5) * x - 0.25) * x + 0.125;
		x = x < 0.999 ? x + 0.001 : 0.5;
	}
	sink += (uint64_t)(y * 1000);
}

static struct phase {
	const char *name;
	void (*work)(unsigned rounds);
	double quota;	 /* of the CPU time */
	unsigned rounds; /* that take about a turn */
	uint64_t used_ns;
} phases[] = {
	{ "hash_probe", hash_probe, 0.50, 1, 0 },
	{ "parse_rows", parse_rows, 0.30, 1, 0 },
	{ "evaluate", evaluate, 0.20, 1, 0 },
};
#define N_PHASES (sizeof(phases) / sizeof(*phases))

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct phase *furthest_behind(uint64_t total)
{
	struct phase *pick = phases;
	double most = -1e18;

	for (size_t i = 0; i < N_PHASES; i++) {
		double behind = phases[i].quota * (double)total - (double)phases[i].used_ns;

		if (behind > most) {
			most = behind;
			pick = &phases[i];
		}
	}
	return pick;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	uint64_t total = 0, last;
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		table[i] = seed = seed * 1664525 + 1013904223;
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = seed >> 29 ? (char)('0' + (seed >> 24) % 10) : ',';
	}
	last = cpu_ns();
	while ((double)total < seconds * 1e9) {
		struct phase *p = furthest_behind(total);
		uint64_t now;

		p->work(p->rounds);
		now = cpu_ns();
		p->used_ns += now - last;
		total += now - last;
		if (now - last < TURN_NS && p->rounds < 1u << 20)
			p->rounds += p->rounds / 4 + 1;
		else if (now - last > 2 * TURN_NS && p->rounds > 1)
			p->rounds -= p->rounds / 4;
		last = now;
	}
	for (size_t i = 0; i < N_PHASES; i++)
		printf("%s %.2f\n", phases[i].name,
		       100 * (double)phases[i].used_ns / (double)total);
	return 0;
}
