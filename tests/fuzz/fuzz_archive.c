/* SPDX-License-Identifier: BSD-3-Clause */
/* Tar archives, unpacked: each file lies in the bytes, has a name of its own that leads nowhere
 * else, and is found by it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fuzzers do not find checksums: each block that may be a header gets its own. */
static void put_sums(uint8_t *p, size_t size)
{
	for (size_t at = 0; at + 512 <= size; at += 512) {
		unsigned sum = 8 * ' ';

		if (p[at + 148] != 'S')
			continue;
		for (size_t i = 0; i < 512; i++)
			sum += i < 148 || i >= 156 ? p[at + i] : 0u;
		for (int i = 5; i >= 0; i--, sum >>= 3)
			p[at + 148 + (size_t)i] = (uint8_t)('0' + (sum & 7));
		p[at + 154] = 0;
		p[at + 155] = ' ';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct archive_list l;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	put_sums(copy, size);
	if (!archive_parse(&l, copy, size, NULL)) {
		for (size_t i = 0; i < l.v.n; i++) {
			const struct archive_entry *e = &l.v.v[i];

			if (e->at > size || e->len > size - e->at ||
			    archive_find(&l, e->name) != e || e->name[0] == '/' ||
			    strstr(e->name, "/../") || !strncmp(e->name, "../", 3))
				abort();
		}
	}
	archive_list_free(&l);
	free(copy);
	return 0;
}
