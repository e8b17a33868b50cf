/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a jitdump: what comes out lies inside the file, in order of time, and is found where
 * it was put unless something newer lies there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/image/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump j;

	if (jitdump_parse(&j, data, size, NULL))
		return 0;
	for (size_t i = 0; i < j.code.n; i++) {
		const struct jit_code *c = &j.code.v[i], *found;

		if (c->offset > size || c->size > size - c->offset)
			abort();
		if (i && c->time < j.code.v[i - 1].time)
			abort();
		(void)strlen(c->name);
		for (size_t k = 0; k < c->n_line; k++)
			(void)strlen(c->line[k].file);
		found = jitdump_find(&j, c->start, c->time);
		if (!found || found < c || found->time != c->time) {
			/* only a move of the same instant may have taken it away */
			bool away = false;

			for (size_t k = i + 1; k < j.code.n && j.code.v[k].time == c->time; k++)
				away |= j.code.v[k].moved;
			if (!away)
				abort();
		}
	}
	jitdump_free(&j);
	return 0;
}
