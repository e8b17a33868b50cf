/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel_run - runs kernels. Without arguments it prints the table: "NAME ROUND UNITS", then what
 * an iteration counts, "KEY each per_unit"; "- NAME REASON" of what this CPU cannot run. With "-",
 * lines of standard input say what to do:
 *	run NAME ITERATIONS [UNITS [LAYOUT [BYTES]]]	so many, then twice as many; before and
 *							behind each of both it calls sched_yield()
 *	moves NAME BYTES QUANTITY HOLDS ...		prints "TURN N LOW" of kernel_moved(), or
 *							"TURN unsure", a line for each quantity
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"

static int list(void)
{
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *k = &kernels[i];
		struct err err = ERR_INIT;
		struct kernel_work w;

		if (kernel_prepare(&w, k, &(struct kernel_setup){ .bytes = 0 }, &err)) {
			if (err.code != ERR_UNSUPPORTED)
				return 1;
			printf("- %s %s\n", k->name, err.what);
			continue;
		}
		printf("%s %" PRIu64 " %u", k->name, w.round, k->usual.units);
		for (unsigned q = 0; q < QUANTITIES; q++)
			printf(" %s %g %g", kernel_quantity_key[q], k->each[q], k->per_unit[q]);
		putchar('\n');
		kernel_release(&w);
	}
	return 0;
}

static int moves(char *words)
{
	char *save = NULL, *name = strtok_r(words, " \n", &save),
	     *bytes = strtok_r(NULL, " \n", &save), *quantity, *holds;
	const struct kernel *k = name && bytes ? kernel_find(name) : NULL;
	const struct kernel_setup s = { .bytes = k ? strtoull(bytes, NULL, 10) : 0 };
	struct kernel_moved m;

	while (k && (quantity = strtok_r(NULL, " \n", &save)) &&
	       (holds = strtok_r(NULL, " \n", &save))) {
		unsigned q = 0;

		while (q < QUANTITIES && strcmp(kernel_quantity_key[q], quantity) != 0)
			q++;
		if (q == QUANTITIES)
			return -1;
		printf("%" PRIu64, kernel_turn(k, &s));
		if (kernel_moved(&m, k, &s, (enum kernel_quantity)q, strtoull(holds, NULL, 10)))
			printf(" %.9g %.9g\n", m.n, m.low);
		else
			puts(" unsure");
	}
	return k ? 0 : -1;
}

/* The same code whatever runs: what is counted beside the kernel does not differ. */
static __attribute__((noinline)) void follow(const struct kernel *k, struct kernel_work *w,
					     uint64_t n)
{
	(void)sched_yield();
	k->run(w, n);
	(void)sched_yield();
}

struct prepared {
	const struct kernel *k;
	struct kernel_setup s;
	struct kernel_work w;
};

/* What is prepared is taken again where only the layout is another: tables take long to make. */
static int run(struct prepared *p, const char *words)
{
	char name[64] = "";
	struct kernel_setup s = { .bytes = 0 };
	const struct kernel *k;
	uint64_t n = 0;

	if (sscanf(words, "%63s %" SCNu64 " %u %u %" SCNu64, name, &n, &s.units, &s.layout,
		   &s.bytes) < 2 ||
	    !(k = kernel_find(name)))
		return -1;
	if (k != p->k || s.units != p->s.units || s.bytes != p->s.bytes) {
		kernel_release(&p->w);
		if (kernel_prepare(&p->w, k, &s, NULL))
			return -1;
		p->k = k;
		p->s = s;
	}
	p->w.layout = s.layout;
	follow(k, &p->w, n);
	follow(k, &p->w, 2 * n);
	return 0;
}

static int obey(struct prepared *p, char *line)
{
	if (!strncmp(line, "moves ", 6))
		return moves(line + 6);
	return strncmp(line, "run ", 4) ? -1 : run(p, line + 4);
}

#define STACK_AT 0xc00u /* in its page: far from what kernels load, which is at its beginning */

int main(int argc, char **argv)
{
	struct prepared p = { .k = NULL };
	char line[1024];
	int ret = 0;

	if (argc == 1)
		return list();
	if (strcmp(argv[1], "-") != 0)
		return 2;
	/* else the environment's size decides whether loads are 4K aliases of pushes */
	char *below = __builtin_alloca(16),
	     *room = __builtin_alloca(((uintptr_t)below - STACK_AT) % 4096 + 16);

	__asm__ volatile("" : : "r"(room) : "memory");
	while (!ret && fgets(line, sizeof(line), stdin)) {
		ret = obey(&p, line);
		if (ret)
			(void)fprintf(stderr, "kernel_run: cannot do this: %s", line);
	}
	kernel_release(&p.w);
	return ret ? 1 : 0;
}
