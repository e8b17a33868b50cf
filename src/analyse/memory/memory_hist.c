/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_hist.h"

#include <stdlib.h>

#define PAGES (HIST_VALUES / HIST_PAGE)

static int add_many(struct hist *h, uint16_t value, uint32_t n)
{
	uint32_t **page = &h->many[value / HIST_PAGE];

	if (!*page)
		*page = calloc(HIST_PAGE, sizeof(**page));
	if (!*page || (*page)[value % HIST_PAGE] > UINT32_MAX - n)
		return -1;
	(*page)[value % HIST_PAGE] += n;
	return 0;
}

/* From the list to pages. */
static int spread_out(struct hist *h)
{
	h->many = calloc(PAGES, sizeof(*h->many));
	if (!h->many)
		return -1;
	for (uint32_t i = 0; i < h->n; i++)
		if (add_many(h, h->few[i], 1))
			return -1;
	free(h->few);
	h->few = NULL;
	h->n = h->room = 0;
	return 0;
}

static int grow(struct hist *h)
{
	uint32_t room = h->room ? 2 * h->room : 8;
	uint16_t *few = realloc(h->few, room * sizeof(*few));

	if (!few)
		return -1;
	h->few = few;
	h->room = room;
	return 0;
}

int hist_add_slowly(struct hist *h, uint16_t value)
{
	if (!h->many && h->room < HIST_FEW) {
		if (grow(h))
			return -1;
		h->few[h->n++] = value;
		return 0;
	}
	return (!h->many && spread_out(h)) || add_many(h, value, 1) ? -1 : 0;
}

int hist_join(struct hist *h, const struct hist *other)
{
	for (uint32_t i = 0; i < other->n; i++)
		if (hist_add(h, other->few[i]))
			return -1;
	if (other->many && !h->many && spread_out(h))
		return -1;
	for (uint32_t v = 0; other->many && v < HIST_VALUES; v++) {
		const uint32_t *page = other->many[v / HIST_PAGE];

		if (!page)
			v += HIST_PAGE - 1;
		else if (page[v % HIST_PAGE] && add_many(h, (uint16_t)v, page[v % HIST_PAGE]))
			return -1;
	}
	return 0;
}

void hist_each(const struct hist *h, void (*add)(void *ctx, uint16_t value, uint64_t n), void *ctx)
{
	for (uint32_t i = 0; i < h->n; i++)
		add(ctx, h->few[i], 1);
	for (uint32_t v = 0; h->many && v < HIST_VALUES; v++) {
		const uint32_t *page = h->many[v / HIST_PAGE];

		if (!page)
			v += HIST_PAGE - 1;
		else if (page[v % HIST_PAGE])
			add(ctx, (uint16_t)v, page[v % HIST_PAGE]);
	}
}

void hist_free(struct hist *h)
{
	for (uint32_t i = 0; h->many && i < PAGES; i++)
		free(h->many[i]);
	free(h->many);
	free(h->few);
	*h = (struct hist){ 0 };
}
