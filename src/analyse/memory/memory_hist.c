/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_hist.h"

#include <stdlib.h>

#define PAGES (HIST_VALUES / HIST_PAGE)

/* Returns NULL when out of memory. */
static uint32_t *in_page(struct hist_many *m, uint16_t value)
{
	uint32_t **page;

	if (!m->page)
		m->page = calloc(PAGES, sizeof(*m->page));
	if (!m->page)
		return NULL;
	page = &m->page[value / HIST_PAGE];
	if (!*page)
		*page = calloc(HIST_PAGE, sizeof(**page));
	return *page ? &(*page)[value % HIST_PAGE] : NULL;
}

static int add_many(struct hist *h, uint16_t value, uint32_t n)
{
	uint32_t *at = value < HIST_LOW ? &h->many->low[value] : in_page(h->many, value);

	if (!at)
		return -1;
	if (*at > UINT32_MAX - n)
		return -1;
	*at += n;
	return 0;
}

/* Converts the list to counts. */
static int spread_out(struct hist *h)
{
	struct hist old = *h;

	*h = (struct hist){ .many = calloc(1, sizeof(*h->many)) };
	if (!h->many) {
		*h = old;
		return -1;
	}
	for (uint32_t i = 0; i < old.n; i++)
		if (add_many(h, old.few[i], 1)) {
			free(old.few);
			return -1;
		}
	free(old.few);
	return 0;
}

static int grow(struct hist *h)
{
	uint32_t room = h->room ? 2 * h->room : 16;
	uint16_t *few = realloc(h->few, room * sizeof(*few));

	if (!few)
		return -1;
	h->few = few;
	h->room = room;
	return 0;
}

int hist_add_slowly(struct hist *h, uint16_t value)
{
	if (!hist_is_many(h) && h->room < HIST_FEW) {
		if (grow(h))
			return -1;
		h->few[h->n++] = value;
		return 0;
	}
	return (!hist_is_many(h) && spread_out(h)) || add_many(h, value, 1) ? -1 : 0;
}

int hist_add_all(struct hist *h, const uint16_t *v, size_t n, size_t step)
{
	if (!hist_is_many(h) && h->n + n > HIST_FEW && spread_out(h))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (hist_add(h, v[i * step]))
			return -1;
	return 0;
}

/* Returns how often this value was seen, of a histogram with pages; *v jumps over pages that are
 * not there. */
static uint32_t count_at(const struct hist *h, uint32_t *v)
{
	const uint32_t *page;

	if (*v < HIST_LOW)
		return h->many->low[*v];
	if (!h->many->page) {
		*v = HIST_VALUES;
		return 0;
	}
	page = h->many->page[*v / HIST_PAGE];
	if (page)
		return page[*v % HIST_PAGE];
	*v += HIST_PAGE - 1;
	return 0;
}

int hist_join(struct hist *h, struct hist *other)
{
	if (!h->n && !hist_is_many(h)) {
		hist_free(h);
		*h = *other;
		*other = (struct hist){ .few = NULL };
		return 0;
	}
	for (uint32_t i = 0; i < other->n; i++)
		if (hist_add(h, other->few[i]))
			return -1;
	if (hist_is_many(other) && !hist_is_many(h) && spread_out(h))
		return -1;
	for (uint32_t v = 0; hist_is_many(other) && v < HIST_VALUES; v++) {
		uint32_t n = count_at(other, &v);

		if (n && add_many(h, (uint16_t)v, n))
			return -1;
	}
	return 0;
}

void hist_each(const struct hist *h, void (*add)(void *ctx, uint16_t value, uint64_t n), void *ctx)
{
	for (uint32_t i = 0; i < h->n; i++)
		add(ctx, h->few[i], 1);
	for (uint32_t v = 0; hist_is_many(h) && v < HIST_VALUES; v++) {
		uint32_t n = count_at(h, &v);

		if (n)
			add(ctx, (uint16_t)v, n);
	}
}

void hist_free(struct hist *h)
{
	if (!hist_is_many(h)) {
		free(h->few);
	} else {
		for (uint32_t i = 0; h->many->page && i < PAGES; i++)
			free(h->many->page[i]);
		free(h->many->page);
		free(h->many);
	}
	*h = (struct hist){ .few = NULL };
}
