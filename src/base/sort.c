/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sort.h"
#include "base/invariant.h"

#include <stdbool.h>
#include <string.h>

#define FEW 24

void keyed_sort(struct keyed *v, struct keyed *scratch, size_t n)
{
	struct keyed *from = v, *to = scratch;
	uint64_t all_or = 0, all_and = UINT64_MAX;
	bool sorted = true;

	if (n <= FEW) {
		for (size_t i = 1; i < n; i++) {
			struct keyed x = v[i];
			size_t at = i;

			for (; at && v[at - 1].key > x.key; at--)
				v[at] = v[at - 1];
			v[at] = x;
		}
		return;
	}
	for (size_t i = 0; i < n; i++) {
		all_or |= v[i].key;
		all_and &= v[i].key;
		sorted &= !i || v[i - 1].key <= v[i].key;
	}
	for (unsigned shift = 0; !sorted && shift < 64; shift += 8) {
		size_t at[256] = { 0 }, sum = 0;
		struct keyed *other = from;

		if (!((all_or ^ all_and) >> shift & 255))
			continue;
		for (size_t i = 0; i < n; i++)
			at[from[i].key >> shift & 255]++;
		for (size_t d = 0; d < 256; d++) {
			size_t count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[from[i].key >> shift & 255]++] = from[i];
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	assert(pairs_hold(n, i, v[i].key <= v[i + 1].key));
}
