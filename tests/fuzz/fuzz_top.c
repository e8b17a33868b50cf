/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as files of /proc/PID: names end, paths lie inside the text, nothing beyond it is read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/top/top_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cgroup(const char *text, size_t size)
{
	struct arena a = ARENA_INIT;
	const char *path, *name;
	size_t len;
	char *copy;

	if (!top_cgroup_parse(&path, &len, text, size))
		return;
	if (path < text || len > size || path + len > text + size || memchr(path, '\n', len))
		abort();
	copy = arena_strndup(&a, path, len);
	name = copy ? top_cgroup_name(&a, copy) : NULL;
	if (!name || (!*name && *copy))
		abort();
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* its end is that of the memory */
	struct top_stat s;
	uint64_t n;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (top_stat_parse(&s, text, size)) {
		size_t len = strnlen(s.comm, sizeof(s.comm));

		if (len == sizeof(s.comm) || !s.state || (len && !memmem(text, size, s.comm, len)))
			abort();
	}
	if (top_switches_parse(&n, text, size) && !memmem(text, size, "voluntary", 9))
		abort();
	check_cgroup(text, size);
	free(text);
	return 0;
}
