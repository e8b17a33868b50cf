/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_tids - which thread had a number at a time.
 */
#include <stdlib.h>

#include "analyse/wait/wait_int.h"
#include "base/xalloc.h"

void tids_make(struct tids *t, const struct wait *w)
{
	t->before = xmalloc((w->n_threads + 1) * sizeof(*t->before));
	for (size_t i = 0; i < w->n_threads; i++) {
		bool fresh;
		uint64_t *at = u64map_xat(&t->at, w->thread[i].tid, &fresh);

		t->before[i] = fresh ? WAIT_NOBODY : (uint32_t)*at;
		*at = i;
	}
}

uint32_t tids_at(const struct tids *t, const struct wait *w, uint32_t tid, uint64_t time)
{
	const uint64_t *at = u64map_find(&t->at, tid);
	uint32_t i = at ? (uint32_t)*at : WAIT_NOBODY;

	while (i != WAIT_NOBODY && time < w->thread[i].from)
		i = t->before[i];
	return i != WAIT_NOBODY && time <= w->thread[i].until ? i : WAIT_NOBODY;
}

void tids_free(struct tids *t)
{
	u64map_free(&t->at);
	free(t->before);
}
