/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu_list.h"

#include <stdlib.h>

/* One number of a list; -1 if none stands or it is too large for a CPU. */
static int64_t cpu_list_number(const char **p, const char *end)
{
	const char *s = *p;
	int64_t v = 0;

	if (s == end || *s < '0' || *s > '9')
		return -1;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (*s - '0');
		if (v >= CPU_LIST_MAX)
			return -1;
	}
	*p = s;
	return v;
}

int cpu_list_parse(struct arena *a, const char *s, size_t len, const uint32_t **out, size_t *n)
{
	uint64_t set[CPU_LIST_MAX / 64];
	const char *end = s + len;
	uint32_t *list;
	size_t count = 0, words = 0; /* words: of the set that are used */
	int64_t work = 0;	     /* a range that is repeated must not cost time */

	*out = NULL;
	*n = 0;
	while (s < end) {
		int64_t from = cpu_list_number(&s, end), to = from;

		if (s < end && *s == '-') {
			s++;
			to = cpu_list_number(&s, end);
		}
		if (from < 0 || to < from)
			return -1;
		work += to - from;
		if (work > 4 * (int64_t)CPU_LIST_MAX)
			return -1;
		/* the set is large: only the used part is touched */
		for (; words <= (size_t)to / 64; words++)
			set[words] = 0;
		for (int64_t i = from; i <= to; i++)
			set[i / 64] |= UINT64_C(1) << (i % 64);
		if (s < end && *s != ',')
			return -1;
		if (s < end && ++s == end)
			return -1;
	}
	for (size_t i = 0; i < words; i++)
		count += (size_t)__builtin_popcountll(set[i]);
	list = arena_alloc(a, (count + 1) * sizeof(*list));
	if (!list)
		return -1;
	for (uint32_t i = 0; i < words * 64; i++)
		if (set[i / 64] >> (i % 64) & 1)
			list[(*n)++] = i;
	*out = list;
	return 0;
}

static int cpus_ascending(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool cpu_list_has(const uint32_t *list, size_t n, uint32_t cpu)
{
	return n && bsearch(&cpu, list, n, sizeof(*list), cpus_ascending);
}
