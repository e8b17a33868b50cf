/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a ring of samples, in runs cut by the first byte: what is seen does not depend on
 * where the runs are cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/latency.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct latency_sums *sums, const uint8_t *data, size_t size, size_t run)
{
	static const uint64_t ids[] = { 0, 0x4141414141414141 };
	static const uint32_t of[] = { 0, 1 };
	struct latency_parser p = { .id = ids, .of = of, .n_ids = 2, .sums = sums };

	for (size_t at = 0; at < size; at += run) {
		size_t n = size - at < run ? size - at : run;
		uint8_t *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, data + at, n);
		latency_parse(&p, copy, n);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct latency_sums whole[2], cut[2];
	struct latency_value v;

	memset(whole, 0, sizeof(whole));
	memset(cut, 0, sizeof(cut));
	if (size < 2)
		return 0;
	feed(whole, data + 1, size - 1, size);
	feed(cut, data + 1, size - 1, (size_t)data[0] + 1);
	for (int i = 0; i < 2; i++) {
		if (whole[i].n != cut[i].n || whole[i].sum < cut[i].sum ||
		    whole[i].sum > cut[i].sum || whole[i].least > whole[i].most ||
		    whole[i].nonzero > whole[i].n)
			abort();
		latency_value_of(&whole[i], &v);
		if (v.mean < whole[i].least || v.mean > whole[i].most)
			abort();
	}
	return 0;
}
