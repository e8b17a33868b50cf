/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * itab - an open-addressing index over an array the user keeps: hash -> place in the array.
 *
 * A slot holds the upper half of the hash beside the index, so that most other keys are skipped and
 * the table grows without looking at the array. The user compares the rest:
 *
 *	for (i = itab_first(t, h); itab_at(t, &i, h, &idx);)
 *		if (same(&array[idx], key))
 *			return idx;
 *	itab_put(t, h, n)	-1 when out of memory
 *
 * Room for 2^32 - 2 elements; nothing is ever taken out.
 */
#ifndef CYCLADE_ANALYSE_ITAB_H
#define CYCLADE_ANALYSE_ITAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct itab {
	uint64_t *slot; /* upper half: of the hash; lower half: index + 1, 0 if empty */
	size_t nslot, n;
};

#define ITAB_INIT          \
	{                  \
		NULL, 0, 0 \
	}
#define ITAB_NONE UINT32_MAX

static inline size_t itab_first(const struct itab *t, uint64_t hash)
{
	return t->nslot ? (size_t)(hash >> 32) & (t->nslot - 1) : 0;
}

/* Sets *idx to the next candidate from *i on; returns false at the end of the run. */
static inline bool itab_at(const struct itab *t, size_t *i, uint64_t hash, uint32_t *idx)
{
	if (!t->nslot)
		return false;
	for (;;) {
		uint64_t s = t->slot[*i];

		if (!(uint32_t)s)
			return false;
		*i = (*i + 1) & (t->nslot - 1);
		if (s >> 32 == hash >> 32) {
			*idx = (uint32_t)s - 1;
			return true;
		}
	}
}

/* Puts `idx` in the place of the candidate that itab_at gave last; `i` as it left it. */
static inline void itab_replace(struct itab *t, size_t i, size_t idx)
{
	uint64_t *s = &t->slot[(i - 1) & (t->nslot - 1)];

	*s = *s >> 32 << 32 | (uint32_t)(idx + 1);
}

/* Half the work of hash_pair(); only its upper half is good, and only that is used here. */
static inline uint64_t itab_hash(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu;

	return (x ^ x >> 32) * 0xff51afd7ed558ccdu;
}

/* Asks for the slot that a look-up will want soon. */
static inline void itab_ahead(const struct itab *t, uint64_t hash)
{
	if (t->nslot)
		__builtin_prefetch(&t->slot[itab_first(t, hash)]);
}

/* Makes room for so many: growing step by step moves everything again and again. A wish. */
void itab_reserve(struct itab *t, size_t n);
int itab_put(struct itab *t, uint64_t hash, size_t idx) MUST_USE;
void itab_free(struct itab *t);

#endif
