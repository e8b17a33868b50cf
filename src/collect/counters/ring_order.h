/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring_order - the records of several rings, in the order of their times.
 *
 *	ring_order_fields(&o, attr)		where records have their times
 *	ring_order_add(&o, page, data, size)	each ring, once per round
 *	ring_order_drain(&o, sink)		what is in them up to now; the rings are free again
 *	ring_order_free(&o)
 *
 * Each ring is in order by itself, so the earliest of their next records is the next. Costs a step
 * down a heap of the rings that have records, for each record. How far the rings are filled is read
 * of one after the other: the last record of one may be later than the first of the next round of
 * another by the time that this takes.
 */
#ifndef CYCLADE_COLLECT_RING_ORDER_H
#define CYCLADE_COLLECT_RING_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/perf_abi.h"
#include "base/vec.h"
#include "collect/recorder.h"

struct ring_read { /* a ring that has records */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size;
	uint64_t at, head, time; /* the next record, the end, and the record's time */
};

struct ring_order {
	size_t time_at, time_back;  /* in a sample, and from the end of any other record */
	VEC(struct ring_read) next; /* a heap, the earliest first */
};

/* All events have records of the same fields, apart from those behind the time. */
void ring_order_fields(struct ring_order *o, const struct perf_event_attr *a);
int ring_order_add(struct ring_order *o, struct perf_event_mmap_page *page, const uint8_t *data,
		   uint64_t size, struct err *err) MUST_USE;
/* data() gets each record alone; in two parts if the ring's end cuts it. */
int ring_order_drain(struct ring_order *o, const struct recorder_sink *sink,
		     struct err *err) MUST_USE;
void ring_order_free(struct ring_order *o);

#endif
