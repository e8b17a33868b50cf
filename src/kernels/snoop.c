/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Done to the lines of a list before another CPU reads them. Each function runs twice: on the CPU
 * that is to have the lines (other), then on the CPU that reads them.
 */
#include <string.h>

#include "kernels/run.h"

/* From all caches of the machine. */
static void snoop_drop(const struct kernel_work *w)
{
	struct kernel_work lines = *w;

	lines.at = 0;
	run_flush(&lines, (w->mask + 1) / 64);
	__sync_synchronize();
}

static void snoop_read(const struct kernel_work *w)
{
	struct kernel_work lines = *w;

	lines.here = w->a;
	run_walk(&lines, w->round);
}

/* A word of each line, not the address of the next one. */
static void snoop_write(const struct kernel_work *w)
{
	char *at = w->a;

	for (uint64_t i = 0; i < w->round; i++) {
		uint64_t word;

		memcpy(&word, at + 32, sizeof(word));
		word++;
		memcpy(at + 32, &word, sizeof(word));
		memcpy(&word, at, sizeof(word));
		at = (char *)(uintptr_t)word;
	}
	__sync_synchronize();
}

BEFORE(clean)
{
	if (other) {
		snoop_drop(w);
		snoop_read(w);
	}
}

BEFORE(modified)
{
	if (other)
		snoop_write(w);
}

BEFORE(shared)
{
	if (other)
		snoop_drop(w);
	snoop_read(w);
}

BEFORE(flushed)
{
	if (other) {
		snoop_write(w);
		snoop_drop(w);
	}
}
