/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which samples go into the file if the kernel could only sample whole CPUs, but tasks were asked
 * for. Whose a sample is follows from forks: a task that one of ours began is ours. Rings are
 * drained one after the other, so that a sample can come before the record of its task's fork: it
 * waits until all rings were drained once more.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "measure/sampling/sampling_int.h"

enum { OURS = 1, OTHER = 2 };

struct whose {
	struct u64map task; /* by thread: OURS or OTHER */
	bool follow;	    /* threads that ours start are ours */
	struct buf waiting; /* samples of threads that are not known yet, one after another */
	size_t old;	    /* bytes of these that came before the round at hand */
	size_t tid_at;
	uint64_t left_out;
};

static int know(struct whose *f, uint32_t tid, uint64_t whose, struct err *err)
{
	bool fresh;
	uint64_t *at = u64map_at(&f->task, tid, &fresh);

	if (!at)
		return err_nomem(err);
	if (fresh || whose == OURS)
		*at = whose;
	return 0;
}

int whose_new(struct whose **out, const pid_t *task, size_t n, bool follow, size_t tid_at,
	      struct err *err)
{
	struct whose *f = calloc(1, sizeof(*f));

	*out = f;
	if (!f)
		return err_nomem(err);
	f->follow = follow;
	f->tid_at = tid_at;
	for (size_t i = 0; i < n; i++)
		if (know(f, (uint32_t)task[i], OURS, err))
			return -1;
	return know(f, 0, OTHER, err); /* idle */
}

void whose_free(struct whose *f)
{
	if (!f)
		return;
	u64map_free(&f->task);
	buf_free(&f->waiting);
	free(f);
}

uint64_t whose_left_out(const struct whose *f)
{
	return f ? f->left_out : 0;
}

/* pid, ppid, tid, ptid. The thread's number may have been another's before. */
static int on_fork(struct whose *f, const uint8_t *p, size_t size, struct err *err)
{
	const size_t head = sizeof(struct perf_event_header);
	const uint64_t *parent;
	uint64_t *at;
	bool ours;

	if (size < head + 16)
		return 0;
	parent = u64map_find(&f->task, ld32(p + head + 12));
	ours = f->follow && parent && *parent == OURS;
	at = u64map_at(&f->task, ld32(p + head + 8), NULL);
	if (!at)
		return err_nomem(err);
	*at = ours ? OURS : OTHER;
	return 0;
}

int whose_judge(struct whose *f, const uint8_t *p, size_t size, bool *keep, struct err *err)
{
	const uint64_t *whose;

	*keep = true;
	if (ld32(p) == PERF_RECORD_FORK)
		return on_fork(f, p, size, err);
	if (ld32(p) != PERF_RECORD_SAMPLE || size < f->tid_at + 4)
		return 0;
	whose = u64map_find(&f->task, ld32(p + f->tid_at));
	*keep = whose && *whose == OURS;
	f->left_out += whose && *whose == OTHER;
	if (whose)
		return 0;
	buf_put(&f->waiting, p, size);
	return f->waiting.failed ? err_nomem(err) : 0;
}

int whose_round(struct whose *f, int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err),
		void *ctx, struct err *err)
{
	const uint8_t *p = (const uint8_t *)f->waiting.s;
	size_t at = 0;

	while (at < f->old) {
		size_t size = ld16(p + at + 6);
		uint32_t tid = ld32(p + at + f->tid_at);
		const uint64_t *whose = u64map_find(&f->task, tid);

		if (whose && *whose == OURS) {
			if (put(ctx, p + at, size, err))
				return -1;
		} else {
			f->left_out++;
			if (know(f, tid, OTHER, err))
				return -1;
		}
		at += size;
	}
	if (at)
		memmove(f->waiting.s, f->waiting.s + at, f->waiting.len - at);
	f->waiting.len -= at;
	f->old = f->waiting.len;
	return 0;
}
