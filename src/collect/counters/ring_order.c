/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/counters/ring_order.h"

#include "base/bytes.h"
#include "collect/attr.h"

#define HEAD sizeof(struct perf_event_header)

void ring_order_fields(struct ring_order *o, const struct perf_event_attr *a)
{
	static const uint64_t before[] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
					   PERF_SAMPLE_TID };

	o->time_at = HEAD;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		o->time_at += a->sample_type & before[i] ? 8 : 0;
	/* before the time is nothing but the TID */
	o->time_back = attr_trailer(a) - (a->sample_type & PERF_SAMPLE_TID ? 8 : 0);
}

/* The bytes from `at`: heads and words are never cut by the ring's end. */
static const uint8_t *bytes_of(const struct ring_read *q, uint64_t at)
{
	return q->data + (at & (q->size - 1));
}

static size_t record_size(const struct ring_read *q)
{
	size_t size = ld16(bytes_of(q, q->at) + 6), left = q->head - q->at;

	return size < HEAD || size > left ? left
					  : size; /* none of the kernel's: data() refuses it */
}

/* Finds the time of the next record. Returns false if there is none. */
static bool find_next(const struct ring_order *o, struct ring_read *q)
{
	size_t size;

	if (q->at == q->head)
		return false;
	size = record_size(q);
	q->time = 0;
	if (ld32(bytes_of(q, q->at)) == PERF_RECORD_SAMPLE) {
		if (size >= o->time_at + 8)
			q->time = ld64(bytes_of(q, q->at + o->time_at));
	} else if (size >= HEAD + o->time_back) {
		q->time = ld64(bytes_of(q, q->at + size - o->time_back));
	}
	return true;
}

static void move_down(struct ring_read *v, size_t n, size_t i)
{
	struct ring_read q = v[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		child += child + 1 < n && v[child + 1].time < v[child].time;
		if (q.time <= v[child].time)
			break;
		v[i] = v[child];
	}
	v[i] = q;
}

int ring_order_add(struct ring_order *o, struct perf_event_mmap_page *page, const uint8_t *data,
		   uint64_t size, struct err *err)
{
	struct ring_read q = { .page = page, .data = data, .size = size, .at = page->data_tail };

	q.head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	return find_next(o, &q) && vec_push(&o->next, q) ? err_nomem(err) : 0;
}

static int give_record(const struct ring_read *q, size_t size, const struct recorder_sink *sink,
		       struct err *err)
{
	const uint8_t *p = bytes_of(q, q->at);
	size_t most = (size_t)(q->data + q->size - p);

	if (size <= most)
		return sink->data(sink->ctx, p, size, err);
	return sink->data(sink->ctx, p, most, err) ||
			       sink->data(sink->ctx, q->data, size - most, err)
		       ? -1
		       : 0;
}

int ring_order_drain(struct ring_order *o, const struct recorder_sink *sink, struct err *err)
{
	struct ring_read *v = o->next.v;

	for (size_t i = o->next.n / 2; i-- > 0;)
		move_down(v, o->next.n, i);
	while (o->next.n) {
		struct ring_read *q = &v[0];
		size_t size = record_size(q);

		if (give_record(q, size, sink, err))
			return -1;
		q->at += size;
		/* now and then, so that there is room while the rest is read */
		if (q->at == q->head || q->at - q->page->data_tail > q->size / 8)
			__atomic_store_n(&q->page->data_tail, q->at, __ATOMIC_RELEASE);
		if (!find_next(o, q))
			*q = v[--o->next.n];
		move_down(v, o->next.n, 0);
	}
	return 0;
}

void ring_order_free(struct ring_order *o)
{
	vec_free(&o->next);
}
