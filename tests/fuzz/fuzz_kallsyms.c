/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a list of symbols: entries come out in order, with names that end inside the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/image/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct kallsyms l;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	kallsyms_parse(&l, text, size);
	for (size_t i = 0; i < l.n; i++) {
		const char *name = l.sym[i].name;

		if (name < text || name + strlen(name) >= text + size)
			abort();
		if (i && l.sym[i].addr < l.sym[i - 1].addr)
			abort();
		if (kallsyms_find(&l, l.sym[i].addr)->addr != l.sym[i].addr)
			abort();
	}
	kallsyms_free(&l);
	free(text);
	return 0;
}
