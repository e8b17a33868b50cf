/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the symbol cache. Version and checksum are put right, so that what lies behind them is
 * reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/image/cache.h"

#define HEAD_SIZE 80u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct cache_key k = { "", copy, 20, "fuzz", 0 };
	struct sym_table t;
	const uint32_t version = CACHE_VERSION;
	uint64_t base, check;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (size >= HEAD_SIZE) {
		k.id = copy + 16;
		memcpy(&k.layout, copy + 40, 8);
		memcpy(copy + 8, &version, 4);
		memset(copy + 72, 0, 8);
		check = hash_pair(hash_bytes(copy, HEAD_SIZE),
				  hash_bytes(copy + HEAD_SIZE, size - HEAD_SIZE));
		memcpy(copy + 72, &check, 8);
	}
	if (cache_parse(copy, size, &k, &t, &base)) {
		size_t hint = 0;

		for (size_t i = 0; i < t.n; i++) {
			if (strlen(t.sym[i].linkage) > size ||
			    (t.sym[i].size && !sym_table_find(&t, t.sym[i].start, &hint)))
				abort();
		}
	}
	sym_table_free(&t);
	free(copy);
	return 0;
}
