/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies and ports of a CPU, and measured ones for them: the input is cut at a line "===". What
 * loads has ports or units, latencies in order, and slots.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct core *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct core_op *op = &c->op[i];

		if (isnan(op->low) != isnan(op->high) || op->low > op->high || op->low < 0 ||
		    op->n_uops > CORE_UOPS || op->slots < 0)
			abort();
		for (unsigned k = 0; k < op->n_uops; k++)
			if (!op->uop[k].n || !op->uop[k].ports)
				abort();
		if (!core_find(c, op->name, 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data, *cut = memmem(s, size, "\n===\n", 5);
	size_t len = cut ? (size_t)(cut + 1 - s) : size, n;
	struct model_text text[] = { { "x/y/core", s, len }, { "x/y/model", "width 4\n", 8 } };
	struct model_sources sources = { .text = text, .n_texts = 2 };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct core *c;

	if (!core_load(&c, &a, &sources, "y", &err)) {
		check(c);
		if (c->width != 4)
			abort();
		if (cut && !core_measured(c, &a, "own", cut + 5, size - len - 4, &n, &err))
			check(c);
	}
	if (err.code && !err.what[0])
		abort();
	arena_free(&a);
	return 0;
}
