/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_hist - how often each value below HIST_VALUES was seen: a list of the values while they
 * are few, then counts: of values below HIST_LOW in one piece, of others in pages.
 *
 *	hist_add(&h, value)	-1: out of memory
 *	hist_join(&h, &other)	the same; `other` is to be freed only from then on
 *	hist_each(&h, add, ctx)	each value and its count, in no order, values more than once
 *
 * An empty one is all zero. Costs: some 2 ns a value; memory of 2 bytes a value, of many 4 KB and
 * 1 KB for each 256 neighbouring values above.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_HIST_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HIST_VALUES 65536u
#define HIST_PAGE   256u
#define HIST_LOW    512u
#define HIST_FEW    1024u

struct hist_many {
	uint32_t low[HIST_LOW];
	uint32_t **page; /* HIST_VALUES / HIST_PAGE; NULL if nothing was seen, as they are */
};

struct hist {
	union {
		uint16_t *few;
		struct hist_many *many;
	};
	uint32_t n, room; /* of few; both 0 with many */
};

static inline bool hist_is_many(const struct hist *h)
{
	return !h->room && h->many;
}

int hist_add_slowly(struct hist *h, uint16_t value) MUST_USE;

static inline MUST_USE int hist_add(struct hist *h, uint16_t value)
{
	if (h->n < h->room) {
		h->few[h->n++] = value;
		return 0;
	}
	if (!hist_is_many(h) || value >= HIST_LOW || h->many->low[value] == UINT32_MAX)
		return hist_add_slowly(h, value);
	h->many->low[value]++;
	return 0;
}

/* Adds n values, each `step` behind the one before. */
int hist_add_all(struct hist *h, const uint16_t *v, size_t n, size_t step) MUST_USE;
int hist_join(struct hist *h, struct hist *other) MUST_USE;
void hist_each(const struct hist *h, void (*add)(void *ctx, uint16_t value, uint64_t n), void *ctx);
void hist_free(struct hist *h);

#endif
