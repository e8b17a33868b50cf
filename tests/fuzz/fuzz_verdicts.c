/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of verdicts. What is read has a known verdict and texts, and is found by its name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/validate_kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct validate_kept k = { .path = "verdicts", .machine = "cpu, code, kernel" };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;

	if (validate_kept_parse(&k, &a, (const char *)data, size, &err)) {
		if (!err.code || !strstr(err.what, "verdicts:"))
			abort();
	} else {
		if (!k.when)
			abort();
		for (size_t i = 0; i < k.n; i++)
			if (!k.v[i].event || !k.v[i].text || k.v[i].verdict > VALIDATE_UNTESTED)
				abort();
		(void)validate_kept_find(&k, "INST_RETIRED.ANY");
	}
	arena_free(&a);
	return 0;
}
