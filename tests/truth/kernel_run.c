/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel_run - runs a kernel: NAME ITERATIONS [UNITS [LAYOUT [BYTES]]]. Without arguments it
 * prints the table: "NAME ROUND UNITS", then what an iteration counts, "KEY each per_unit";
 * "- NAME REASON" of what this CPU cannot run. "moves NAME BYTES QUANTITY HOLDS ...": "TURN N LOW"
 * of kernel_moved(), or "TURN unsure", a line for each quantity.
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

static int moves(char **word)
{
	const struct kernel *k = kernel_find(word[0]);
	const struct kernel_setup s = { .bytes = strtoull(word[1], NULL, 10) };
	struct kernel_moved m;

	for (word += 2; k && word[0] && word[1]; word += 2) {
		unsigned q = 0;

		while (q < QUANTITIES && strcmp(kernel_quantity_key[q], word[0]) != 0)
			q++;
		if (q == QUANTITIES)
			return 1;
		printf("%" PRIu64, kernel_turn(k, &s));
		if (kernel_moved(&m, k, &s, (enum kernel_quantity)q, strtoull(word[1], NULL, 10)))
			printf(" %.9g %.9g\n", m.n, m.low);
		else
			puts(" unsure");
	}
	return !k;
}

int main(int argc, char **argv)
{
	struct kernel_setup setup = {
		.bytes = argc > 5 ? strtoull(argv[5], NULL, 10) : 0,
		.units = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0,
		.layout = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0,
	};
	const struct kernel *k = argc > 2 ? kernel_find(argv[1]) : NULL;
	struct kernel_work w;

	if (argc == 1)
		return list();
	if (argc > 5 && !strcmp(argv[1], "moves"))
		return moves(argv + 2);
	if (!k || kernel_prepare(&w, k, &setup, NULL))
		return 1;
	(void)sched_yield(); /* models of caches look from here on */
	k->run(&w, strtoull(argv[2], NULL, 10));
	(void)sched_yield();
	kernel_release(&w);
	return 0;
}
