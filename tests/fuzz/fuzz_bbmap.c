/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a map of basic blocks, the first of which tells the form: blocks come out in order
 * and do not overlap, and no more than the bytes can tell of.
 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/bbmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bbmap_form form;
	struct bbmap m;
	size_t blocks = 0;

	if (!size)
		return 0;
	form = (struct bbmap_form){ data[0] & 1, data[0] & 2, data[0] & 4 };
	if (bbmap_parse(&m, data + 1, size - 1, &form, NULL)) {
		if (m.function.n || m.block.n)
			abort();
		return 0;
	}
	if (m.block.n > size)
		abort();
	for (size_t i = 0; i < m.function.n; i++) {
		const struct bbmap_function *f = &m.function.v[i];
		uint64_t end = 0;

		if (!f->n || f->first != blocks || f->n > m.block.n - f->first)
			abort();
		for (size_t k = f->first; k < f->first + f->n; k++) {
			if (m.block.v[k].at < end)
				abort();
			end = (uint64_t)m.block.v[k].at + m.block.v[k].size;
		}
		blocks += f->n;
	}
	if (blocks != m.block.n)
		abort();
	bbmap_free(&m);
	return 0;
}
