/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/itab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)

/* All zero. Not by calloc: pages that are read before they are written would first be mapped to the
 * kernel's page of zeros, and each be replaced with a call to all processors. */
static uint64_t *new_slots(size_t n)
{
	size_t size = n * sizeof(uint64_t);
	uint64_t *slot = size < HUGE ? malloc(size) : aligned_alloc(HUGE, size);

	if (!slot)
		return NULL;
	if (size >= HUGE) /* a wish; slots are met in no order, each in a page of its own */
		(void)madvise(slot, size, MADV_HUGEPAGE);
	return memset(slot, 0, size);
}

static void put_raw(uint64_t *slot, size_t nslot, uint64_t s)
{
	size_t i = (size_t)(s >> 32) & (nslot - 1);

	while ((uint32_t)slot[i])
		i = (i + 1) & (nslot - 1);
	slot[i] = s;
}

int itab_put(struct itab *t, uint64_t hash, size_t idx)
{
	if (idx >= ITAB_NONE - 1)
		return -1;
	if (t->n * 2 >= t->nslot) {
		size_t nslot = t->nslot ? t->nslot * 2 : 64;
		uint64_t *slot = new_slots(nslot);

		if (!slot)
			return -1;
		for (size_t i = 0; i < t->nslot; i++)
			if ((uint32_t)t->slot[i])
				put_raw(slot, nslot, t->slot[i]);
		free(t->slot);
		t->slot = slot;
		t->nslot = nslot;
	}
	put_raw(t->slot, t->nslot, (hash >> 32 << 32) | (uint32_t)(idx + 1));
	t->n++;
	return 0;
}

void itab_free(struct itab *t)
{
	free(t->slot);
	t->slot = NULL;
	t->nslot = t->n = 0;
}
