/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as a file of users' own events of IBS: an error that begins with FILE:LINE, or events
 * whose expressions SQLite judges, and which are found again by name.
 */
#include <stdlib.h>
#include <string.h>

#include "store/ibs_own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct ibs_own own = { 0 };
	struct err err = ERR_INIT;

	if (size > 1 << 16)
		return 0;
	if (ibs_own_parse(&own, &a, "file", (const char *)data, size, &err)) {
		must(!strncmp(err.what, "file:", 5));
	} else {
		for (size_t i = 0; i < own.n; i++)
			must(ibs_event_find(&own, own.event[i].name) == &own.event[i] &&
			     *own.event[i].predicate && *own.event[i].value);
		if (own.n < 20 && ibs_own_check(&own, &err))
			must(err.what[0]);
	}
	arena_free(&a);
	return 0;
}
