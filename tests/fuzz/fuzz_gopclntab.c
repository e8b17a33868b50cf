/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the function table of a Go program: names end within it, functions have a length. */
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/gopclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_funcs f;
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size); /* so that a sanitizer sees its end */
	if (!copy)
		abort();
	memcpy(copy, data + 1, size - 1);
	if (gopclntab_text_at(copy, size - 1, data[0] & 1) > 64)
		abort();
	gopclntab_parse(&f, copy, size - 1, data[0] & 1, 0x401000);
	if (f.v.n > size)
		abort();
	vec_each (&f.v, struct go_func *, g) {
		if (!g->size || g->name < (char *)copy ||
		    g->name + strlen(g->name) >= (char *)copy + size - 1)
			abort();
	}
	vec_free(&f.v);
	free(copy);
	return 0;
}
