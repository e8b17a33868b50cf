/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_look - reasons of waits without a call chain, from the functions in which threads were seen
 * waiting.
 */
#include <string.h>

#include "analyse/wait/wait_int.h"
#include "base/bisect.h"

#define ENOUGH 3u /* looks, of threads that waited more than so often */

/* Counts how often the thread was seen waiting, by reason; returns the sum. `look` is by thread. */
static uint64_t count_wchans(const struct wait_look *look, size_t n, uint32_t tid,
			     uint64_t by[WAIT_REASONS])
{
	uint64_t all = 0;
	size_t at;

	memset(by, 0, WAIT_REASONS * sizeof(*by));
	bisect(at, n, i, look[i].tid >= tid);
	for (; at < n && look[at].tid == tid; at++) {
		enum wait_reason why =
			wait_function_reason(look[at].function, strlen(look[at].function));

		by[why == WAIT_REASONS ? WAIT_OTHER : why] += look[at].times;
		all += look[at].times;
	}
	return all;
}

/* A thread's waits without a chain are divided as its looks are; the rest of rounding goes to the
 * largest part. */
static void divide(struct wait_thread *x, const uint64_t by[WAIT_REASONS], uint64_t all)
{
	uint64_t whole = x->time[WAIT_NO_STACK], left = whole;
	size_t most = 0;

	for (size_t i = 0; i < WAIT_REASONS; i++) {
		uint64_t part = (uint64_t)((double)whole * ((double)by[i] / (double)all));

		part = part < left ? part : left;
		most = by[i] > by[most] ? i : most;
		x->time[i] += by[i] ? part : 0;
		left -= by[i] ? part : 0;
	}
	x->time[most] += left;
	x->time[WAIT_NO_STACK] -= whole;
	x->looks = all;
}

void wait_looked(struct wait *w, const struct wait_look *look, size_t n)
{
	uint64_t by[WAIT_REASONS], all;
	struct tids tids = { .before = NULL };

	tids_make(&tids, w);
	for (uint32_t i = 0; i < w->n_threads; i++) {
		struct wait_thread *x = &w->thread[i];
		const uint64_t *last = u64map_find(&tids.at, x->tid);

		if (!x->time[WAIT_NO_STACK] || !last || *last != i || tids.before[i] != WAIT_NOBODY)
			continue;
		all = count_wchans(look, n, x->tid, by);
		if (all >= ENOUGH || (all && x->switches <= 2 * ENOUGH))
			divide(x, by, all);
	}
	tids_free(&tids);
}
