/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/itab.h"

#include <stdlib.h>

#include "base/big.h"

static void put_raw(uint64_t *slot, size_t nslot, uint64_t s)
{
	size_t i = (size_t)(s >> 32) & (nslot - 1);

	while ((uint32_t)slot[i])
		i = (i + 1) & (nslot - 1);
	slot[i] = s;
}

static int grow(struct itab *t, size_t nslot)
{
	uint64_t *slot = big_zeros(nslot, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < t->nslot; i++)
		if ((uint32_t)t->slot[i])
			put_raw(slot, nslot, t->slot[i]);
	free(t->slot);
	t->slot = slot;
	t->nslot = nslot;
	return 0;
}

void itab_reserve(struct itab *t, size_t n)
{
	size_t nslot = 64;

	while (nslot < n * 2)
		nslot *= 2;
	if (nslot > t->nslot)
		(void)!grow(t, nslot);
}

int itab_put(struct itab *t, uint64_t hash, size_t idx)
{
	if (idx >= ITAB_NONE - 1)
		return -1;
	if (t->n * 2 >= t->nslot && grow(t, t->nslot ? t->nslot * 2 : 64))
		return -1;
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
