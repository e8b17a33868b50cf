/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_hist - how often each value below HIST_VALUES was seen: a list of the values while they
 * are few, then pages of counts.
 *
 *	hist_add(&h, value)	-1: out of memory
 *	hist_join(&h, &other)	the same; `other` stays as it is
 *	hist_each(&h, add, ctx)	each value and its count, in no order, values more than once
 *
 * An empty one is all zero. Costs: some 2 ns a value; memory of 2 bytes a value, 1 KB for each 256
 * neighbouring values of many.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_MEMORY_HIST_H
#define CYCLADE_ANALYSE_MEMORY_MEMORY_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HIST_VALUES 65536u
#define HIST_PAGE   256u
#define HIST_FEW    1024u

struct hist {
	uint16_t *few;
	uint32_t **many;  /* HIST_VALUES / HIST_PAGE pages, NULL where nothing was seen */
	uint32_t n, room; /* of few; both 0 with many */
};

static inline bool hist_is_many(const struct hist *h)
{
	return !h->room && h->many;
}

/* Asks for what hist_add() will write to. */
static inline void hist_ahead(const struct hist *h)
{
	if (h->room)
		__builtin_prefetch(h->few + h->n, 1);
	else if (h->many)
		__builtin_prefetch(h->many);
}

int hist_add_slowly(struct hist *h, uint16_t value) MUST_USE;

static inline MUST_USE int hist_add(struct hist *h, uint16_t value)
{
	uint32_t *page;

	if (h->n < h->room) {
		h->few[h->n++] = value;
		return 0;
	}
	page = hist_is_many(h) ? h->many[value / HIST_PAGE] : NULL;
	if (!page || page[value % HIST_PAGE] == UINT32_MAX)
		return hist_add_slowly(h, value);
	page[value % HIST_PAGE]++;
	return 0;
}

int hist_join(struct hist *h, const struct hist *other) MUST_USE;
void hist_each(const struct hist *h, void (*add)(void *ctx, uint16_t value, uint64_t n), void *ctx);
void hist_free(struct hist *h);

#endif
