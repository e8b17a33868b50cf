/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a table of regions: shown in both formats, or refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "region/sums.h"
#include "region/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* as a mapped file begins */
	uint8_t *p = aligned_alloc(64, size / 64 * 64 + 64);
	struct table_view v;
	struct report r;

	if (!p)
		abort();
	memcpy(p, data, size);
	if (!table_parse(&v, p, size, "it", NULL) && !report_open(&r, &v, NULL, NULL)) {
		struct buf b = BUF_INIT;

		if (report_text(&b, &r, "term", true, NULL) ||
		    report_text(&b, &r, "json", true, NULL))
			abort();
		buf_free(&b);
		report_close(&r);
	}
	free(p);
	return 0;
}
