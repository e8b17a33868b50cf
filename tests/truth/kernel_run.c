/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel_run - runs a kernel: NAME ITERATIONS [UNITS [LAYOUT]]. Without arguments it prints the
 * table: "NAME ROUND UNITS", then what an iteration counts, "KEY each per_unit"; "- NAME REASON" of
 * what this CPU cannot run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv)
{
	struct kernel_setup setup = {
		.units = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0,
		.layout = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0,
	};
	const struct kernel *k = argc > 2 ? kernel_find(argv[1]) : NULL;
	struct kernel_work w;

	if (argc == 1)
		return list();
	if (!k || kernel_prepare(&w, k, &setup, NULL))
		return 1;
	k->run(&w, strtoull(argv[2], NULL, 10));
	kernel_release(&w);
	return 0;
}
