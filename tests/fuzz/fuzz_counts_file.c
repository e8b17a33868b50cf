/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as counts that perf printed: each event once, with a finite value and a share.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/counts_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct arena a = ARENA_INIT;
	const struct counts_choice choice = { .separator = size % 3 ? 0 : ';' };
	struct counts_file f;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (!counts_file_parse(&f, &a, text, size, &choice, "it", NULL))
		for (size_t i = 0; i < f.n; i++) {
			if (!*f.event[i].name || isnan(f.event[i].value) || f.event[i].value < 0 ||
			    !f.event[i].pieces || f.event[i].counted > 1 || f.event[i].counted < 0)
				abort();
			for (size_t j = 0; j < i && i < 64; j++)
				if (!strcmp(f.event[i].name, f.event[j].name) &&
				    !strcmp(f.event[i].pmu, f.event[j].pmu))
					abort();
		}
	arena_free(&a);
	free(text);
	return 0;
}
