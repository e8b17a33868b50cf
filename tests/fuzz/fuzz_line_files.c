/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the header of a line program: files cost bytes, and numbers stay in range. */
#include <stdlib.h>
#include <string.h>

#include "symbol/line_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_sections in = { 0 };
	struct line_files f;
	uint8_t *copy;

	if (size < 2)
		return 0;
	copy = malloc(size - 1); /* so that a sanitizer sees its end */
	if (!copy)
		abort();
	memcpy(copy, data + 2, size - 2);
	/* strings are anywhere in the same bytes */
	in.line = in.line_str = in.str = copy;
	in.line_len = in.line_str_len = in.str_len = size - 2;
	in.swap = data[1] & 1;
	line_files_read(&f, &in, data[0]);
	if (f.v.n > size || f.first > 1)
		abort();
	for (size_t i = 0; i < f.v.n; i++) {
		const struct line_file *x = &f.v.v[i];

		if ((x->name && strlen(x->name) > size) || (x->dir && strlen(x->dir) > size))
			abort();
	}
	vec_free(&f.v);
	free(copy);
	return 0;
}
