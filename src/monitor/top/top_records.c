/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of an interval. Side-band records are kept if they are of a process whose mappings are
 * known: because it was sampled, and /proc was read; because it began a program while we looked; or
 * because a process that is known began it.
 */
#include "base/bytes.h"
#include "collect/synth.h"
#include "monitor/top/top_int.h"

enum { KERNEL_MOST = 256 << 10 };

static bool is_side(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT || type == PERF_RECORD_KSYMBOL;
}

/* On the recorder's thread. Without memory records are dropped, and counted. */
int top_record(void *ctx, const void *p, size_t size, struct err *err)
{
	struct top_records *r = ctx;
	const uint8_t *b = p;
	uint32_t type = ld32(b);
	const size_t head = sizeof(struct perf_event_header);

	(void)err;
	(void)pthread_mutex_lock(&r->lock);
	if (type == PERF_RECORD_SAMPLE) {
		if (r->now.sample.len + size > TOP_SAMPLES || r->now.sample.failed) {
			r->now.dropped++;
		} else {
			buf_put(&r->now.sample, p, size);
			r->now.samples++;
		}
	} else if (type == PERF_RECORD_LOST && size >= head + 16) {
		r->now.lost += ld64(b + head + 8);
	} else if (type == PERF_RECORD_LOST_SAMPLES && size >= head + 8) {
		r->now.lost += ld64(b + head);
	} else if (type == PERF_RECORD_THROTTLE) {
		r->now.throttled++;
	} else if (is_side(type) && r->now.side.len + size <= TOP_SIDE) {
		buf_put(&r->now.side, p, size);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return 0;
}

static void empty(struct top_heap *h)
{
	buf_reset(&h->sample);
	buf_reset(&h->side);
	h->sample.failed = h->side.failed = false;
	h->samples = h->lost = h->throttled = h->dropped = 0;
}

/* ---- which processes are known --------------------------------------------------------------- */

static bool is_process_known(const struct top_records *r, uint32_t pid)
{
	const uint64_t *at = u64map_find(&r->known, pid);

	return at && *at;
}

static int know(struct top_records *r, uint32_t pid, bool known, struct err *err)
{
	uint64_t *at = u64map_at(&r->known, pid, NULL);

	if (!at)
		return err_nomem(err);
	*at = known;
	return 0;
}

static int put_past(void *ctx, const void *record, size_t len, struct err *err)
{
	struct top_records *r = ctx;

	buf_put(&r->past, record, len);
	return buf_error(&r->past, err);
}

/* It may have ended: then nothing is found, and nothing is looked for again. */
static int learn(struct top_records *r, uint32_t pid, struct err *err)
{
	const struct synth s = { .put = put_past, .ctx = r, .trailer = r->trailer };

	if (is_process_known(r, pid))
		return 0;
	if (know(r, pid, true, err))
		return -1;
	return pid && pid <= INT32_MAX ? synth_process(&s, (pid_t)pid, err) : 0;
}

/* A child has its parent's mappings. A program that begins has none but those that follow. */
static int note_side(struct top_records *r, const uint8_t *p, size_t size, bool *keep,
		     struct err *err)
{
	const size_t head = sizeof(struct perf_event_header);
	uint32_t pid = size >= head + 8 ? ld32(p + head) : 0;
	uint32_t parent = size >= head + 8 ? ld32(p + head + 4) : 0;

	switch (ld32(p)) {
	case PERF_RECORD_FORK:
		if (pid != parent) {
			if (learn(r, parent, err) || know(r, pid, true, err))
				return -1;
		}
		break;
	case PERF_RECORD_COMM:
		if (ld16(p + 4) & PERF_RECORD_MISC_COMM_EXEC && know(r, pid, true, err))
			return -1;
		break;
	case PERF_RECORD_KSYMBOL:
		if (r->kernel.len + size <= KERNEL_MOST)
			buf_put(&r->kernel, p, size);
		*keep = false;
		return 0;
	default:
		break;
	}
	*keep = is_process_known(r, pid);
	return 0;
}

/* Those of processes that are no longer needed go. */
static int sift_side(struct top_records *r, struct err *err)
{
	struct buf *b = &r->last.side;
	size_t kept = 0;

	for (size_t at = 0, size; at < b->len; at += size) {
		bool keep = false;

		size = ld16(b->s + at + 6);
		if (note_side(r, (const uint8_t *)b->s + at, size, &keep, err))
			return -1;
		if (!keep)
			continue;
		if (kept != at)
			memmove(b->s + kept, b->s + at, size);
		kept += size;
	}
	b->len = kept;
	return 0;
}

static int learn_samples(struct top_records *r, struct err *err)
{
	const struct buf *b = &r->last.sample;
	size_t tid_at = r->event.at.tid;
	uint32_t last = 0;

	for (size_t at = 0, size; tid_at && at < b->len; at += size) {
		uint32_t pid;

		size = ld16(b->s + at + 6);
		if (size < tid_at + 8)
			continue;
		pid = ld32(b->s + at + tid_at);
		if (pid == last)
			continue;
		last = pid;
		if (learn(r, pid, err))
			return -1;
	}
	return 0;
}

static void begin_anew(struct top_records *r)
{
	buf_reset(&r->past);
	r->past.failed = false;
	u64map_free(&r->known);
}

/* Records of the interval before are past; if there are too many, /proc is read anew. */
static void grow_old(struct top_records *r)
{
	if (r->past.len + r->last.side.len > TOP_PAST || r->past.failed) {
		begin_anew(r);
		return;
	}
	if (r->last.side.len)
		buf_put(&r->past, r->last.side.s, r->last.side.len);
}

/* `last` is still shown: mappings go on to be noted, for later intervals. */
static void drop_samples(struct top_records *r)
{
	(void)pthread_mutex_lock(&r->lock);
	buf_reset(&r->now.sample);
	r->now.sample.failed = false;
	r->now.samples = r->now.lost = r->now.throttled = r->now.dropped = 0;
	r->gaps |= r->now.side.len + UINT16_MAX > TOP_SIDE;
	(void)pthread_mutex_unlock(&r->lock);
}

int top_records_take(struct top_records *r, bool drop, struct err *err)
{
	struct top_heap was;

	if (drop) {
		drop_samples(r);
		return 0;
	}
	grow_old(r);
	was = r->last;
	(void)pthread_mutex_lock(&r->lock);
	r->gaps |= r->now.side.len + UINT16_MAX > TOP_SIDE || r->now.side.failed;
	r->last = r->now;
	r->now = was;
	empty(&r->now);
	(void)pthread_mutex_unlock(&r->lock);
	if (r->gaps)
		begin_anew(r);
	r->gaps = false;
	return sift_side(r, err) || learn_samples(r, err) ? -1 : 0;
}

int top_records_join(struct top_records *r, bool head, struct err *err)
{
	struct buf *w = &r->whole;
	const struct buf *parts[] = { &r->kernel, &r->past, &r->last.side, &r->last.sample };
	uint64_t data = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		data += parts[i]->len;
	sampling_head_size(&r->head, data);
	buf_reset(w);
	if (head)
		buf_put(w, r->head.s, r->head.len);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i]->len)
			buf_put(w, parts[i]->s, parts[i]->len);
	return buf_error(w, err);
}

void top_records_free(struct top_records *r)
{
	struct buf *all[] = { &r->now.sample, &r->now.side, &r->last.sample, &r->last.side,
			      &r->head,	      &r->kernel,   &r->past,	     &r->whole };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		buf_free(all[i]);
	u64map_free(&r->known);
	(void)pthread_mutex_destroy(&r->lock);
}
