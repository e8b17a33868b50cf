/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbol names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	char *name = malloc(size + 1);
	const char *s;

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	s = demangle(&a, name);
	if (!s || (s != name && strlen(s) > DEMANGLE_OUT_MAX + size))
		abort();
	arena_free(&a);
	free(name);
	return 0;
}
