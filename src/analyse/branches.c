/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/branches.h"

#include <stdlib.h>

#include "base/task.h"

#define AHEAD 2048u /* bytes */

/* A cache line each, so that workers do not share one. */
struct worker {
	struct branches_seen seen;
	uint64_t pad[2];
};

struct walk {
	const struct pd *rec;
	const struct pd_event *ev;
	const struct pd_chunk *chunk;
	branches_fn fn;
	void *ctx;
	struct worker *worker;
};

static int one(struct walk *w, unsigned worker, const struct pd_record *r, struct err *err)
{
	struct branches_seen *n = &w->worker[worker].seen;
	int e = pd_sample_event(w->rec, r);
	struct branch_span span = { .record = r, .event = (uint32_t)e };

	n->samples++;
	if (e < 0) {
		n->bad++;
		return 0;
	}
	if (!(w->ev[e].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)) {
		n->none++;
		return 0;
	}
	if (!pd_branches_find(&w->ev[e], r, &span.stack)) {
		n->bad++;
		return 0;
	}
	if (!span.stack.n) {
		n->empty++;
		return 0;
	}
	n->stacks++;
	n->branches += span.stack.n;
	return w->fn(w->ctx, worker, &span, err);
}

static int walk_chunk(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct walk *w = ctx;
	struct pd_record r = { NULL, 0, 0, 0, 0 };

	while (pd_next(&w->chunk[i], &r)) {
		__builtin_prefetch((const void *)((uintptr_t)r.p + AHEAD));
		if (r.type == PERF_RECORD_SAMPLE && one(w, worker, &r, err))
			return -1;
	}
	return 0;
}

unsigned branches_workers(const struct pd *rec, unsigned threads)
{
	size_t n;

	(void)pd_chunks(rec, &n);
	if (!threads)
		threads = task_threads();
	if (threads > n)
		threads = (unsigned)n;
	return threads ? threads : 1;
}

int branches_walk(const struct pd *rec, unsigned threads, branches_fn fn, void *ctx,
		  struct branches_seen *seen, struct err *err)
{
	struct walk w = { .rec = rec, .fn = fn, .ctx = ctx };
	size_t n;
	int ret;

	threads = branches_workers(rec, threads);
	*seen = (struct branches_seen){ 0 };
	w.ev = pd_events(rec, &n);
	w.chunk = pd_chunks(rec, &n);
	w.worker = calloc(threads, sizeof(*w.worker));
	if (!w.worker)
		return err_nomem(err);
	ret = task_for(n, threads, walk_chunk, &w, err);
	for (unsigned i = 0; i < threads; i++) {
		const struct branches_seen *s = &w.worker[i].seen;

		seen->samples += s->samples;
		seen->stacks += s->stacks;
		seen->empty += s->empty;
		seen->none += s->none;
		seen->bad += s->bad;
		seen->branches += s->branches;
	}
	free(w.worker);
	return ret;
}
