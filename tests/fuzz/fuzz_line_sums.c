/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the header of a line program: files cost bytes, and numbers stay in range. */
#include <stdlib.h>
#include <string.h>

#include "symbol/line_sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_sums s;
	uint8_t *copy;

	if (size < 2)
		return 0;
	copy = malloc(size - 1); /* so that a sanitizer sees its end */
	if (!copy)
		abort();
	memcpy(copy, data + 2, size - 2);
	if (line_sums_read(&s, copy, size - 2, data[0], data[1] & 1))
		abort();
	if (s.v.n > size || s.first > 1)
		abort();
	vec_free(&s.v);
	free(copy);
	return 0;
}
