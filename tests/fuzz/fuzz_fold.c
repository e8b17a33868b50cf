/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of a table, one a line, folded together: they fit, and none that differ look alike. The
 * first byte is the width, its highest bit ASCII. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/fold.h"

enum { NAMES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct folds folds = { .v = NULL };
	struct buf name[NAMES] = { 0 }, raw = BUF_INIT, out = BUF_INIT;
	size_t n = 0, width, at = 1;
	bool ascii;

	if (!size)
		return 0;
	width = 8 + (data[0] & 0x7f);
	ascii = data[0] & 0x80;
	while (at < size && n < NAMES) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		buf_reset(&raw);
		buf_put(&raw, (const char *)data + at, len);
		text_put_safe(&name[n], buf_str(&raw), ascii);
		folds_add(&folds, buf_str(&name[n++]), 0);
		at += len + 1;
	}
	folds_settle(&folds, width, ascii);
	for (size_t i = 0; i < n; i++) {
		const char *x = folds_get(&folds, buf_str(&name[i]), 0);

		if (text_width(x) > width)
			abort();
		for (size_t k = 0; k < i; k++)
			if (!strcmp(x, folds_get(&folds, buf_str(&name[k]), 0)) &&
			    strcmp(buf_str(&name[i]), buf_str(&name[k])) != 0)
				abort();
	}
	folds_free(&folds, &out);
	for (size_t i = 0; i < n; i++)
		buf_free(&name[i]);
	buf_free(&raw);
	return 0;
}
