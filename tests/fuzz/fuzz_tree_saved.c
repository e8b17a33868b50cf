/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the tree in a recording: nothing a terminal should not have comes out, in lines that
 * are no longer than what made them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/tree_saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct style st = { .ascii = true };
	char *text = malloc(size ? size : 1);
	struct buf out = BUF_INIT;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (!tree_saved_put(&out, text, size, &st, NULL)) {
		for (size_t i = 0; i < out.len; i++)
			if (out.s[i] != '\n' && (out.s[i] < ' ' || out.s[i] > '~'))
				abort();
		if (out.len > 64 * size + 4096)
			abort();
	}
	buf_free(&out);
	free(text);
	return 0;
}
