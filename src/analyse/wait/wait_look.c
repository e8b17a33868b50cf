/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_look - reasons and objects of waits without a call chain, from what threads were seen
 * waiting for (perfdata/waited.h).
 */
#include <string.h>

#include "analyse/wait/wait_int.h"
#include "base/bisect.h"

#define ENOUGH 3u /* looks, of threads that waited more than so often */

static enum wait_reason reason_of_look(const struct pd_look *x)
{
	enum wait_reason why = wait_function_reason(x->function, strlen(x->function));

	return why == WAIT_REASONS ? WAIT_OTHER : why;
}

/* Counts how often the thread was seen waiting, by reason; returns the sum. */
static uint64_t count_looks(const struct pd_look *look, size_t n, uint64_t by[WAIT_REASONS])
{
	uint64_t all = 0;

	memset(by, 0, WAIT_REASONS * sizeof(*by));
	for (size_t i = 0; i < n; i++) {
		by[reason_of_look(&look[i])] += look[i].times;
		all += look[i].times;
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

static void add_looks(struct wait_work *k, struct wait_things *t, uint32_t thread,
		      const struct pd_look *look, size_t n, double each)
{
	const struct wait_thread *x = &k->out->thread[thread];

	for (size_t i = 0; i < n; i++) {
		struct wait_thing thing = {
			.object = object_number(k, look[i].kind, look[i].value, look[i].text,
						x->pid, look[i].from),
			.reason = (uint8_t)reason_of_look(&look[i]),
			.looks = look[i].times,
			.t.time = (uint64_t)(each * (double)look[i].times),
		};

		if (look[i].times)
			things_add(t, k->out, thread, &thing);
	}
}

void wait_looked(struct wait_work *k)
{
	const struct pd_info *info = pd_info(k->rec);
	uint64_t by[WAIT_REASONS], all;
	struct tids tids = { .before = NULL };
	struct wait_things things = { .v = VEC_INIT };
	struct wait *w = k->out;

	if (!info->n_looks)
		return;
	tids_make(&tids, w);
	for (uint32_t i = 0; i < k->thread.n; i++) {
		struct wait_thread *x = &k->thread.v[i];
		const uint64_t *last = u64map_find(&tids.at, x->tid);
		uint64_t whole = x->time[WAIT_NO_STACK];
		size_t at, end;

		if (!whole || !last || *last != i || tids.before[i] != WAIT_NOBODY)
			continue;
		bisect(at, info->n_looks, m, info->look[m].tid >= x->tid);
		for (end = at; end < info->n_looks && info->look[end].tid == x->tid;)
			end++;
		all = count_looks(info->look + at, end - at, by);
		if (!(all >= ENOUGH || (all && x->switches <= 2 * ENOUGH)))
			continue;
		divide(x, by, all);
		if (x->wanted)
			add_looks(k, &things, i, info->look + at, end - at,
				  (double)whole / (double)all);
	}
	things_end(&things, w);
	tids_free(&tids);
}
