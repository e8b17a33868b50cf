/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record_queue - what rings gave, in memory, until a second thread has read it: a sink that takes
 * long now and then (the first look at a large program) does not keep the rings from being drained.
 *
 *	record_queue_start(&q, &sink, most, &err)	starts the reading thread
 *	record_queue_data / _round			on the draining thread
 *	record_queue_end(q, &err)			all was read; the sink's first failure
 *	record_queue_free(q)
 *
 * Bytes come out in the order in which they went in, in runs that begin and end anywhere; a round
 * comes out behind all bytes before it. If more than `most` bytes wait, the draining thread waits,
 * too: then rings may fill, and the kernel counts what it drops. After a failure of the sink, data
 * and round return it, and what waits is thrown away.
 *
 * Where that is allowed (root), the draining thread comes before all others, since it sleeps most
 * of the time and a ring fills while it waits for a CPU; the reading thread before those of usual
 * niceness, since memory fills while it waits. Costs a copy of each byte, and a wake-up per block
 * or round.
 */
#ifndef CYCLADE_COLLECT_RECORD_QUEUE_H
#define CYCLADE_COLLECT_RECORD_QUEUE_H

#include <stddef.h>

#include "base/err.h"
#include "collect/recorder.h"

#define RECORD_QUEUE_BLOCK ((size_t)1 << 20)

struct record_queue;

/* Of the sink data(), round() and failed() are called, all on the new thread. `most`: a block at
 * least is allowed. */
int record_queue_start(struct record_queue **out, const struct recorder_sink *sink, size_t most,
		       struct err *err) MUST_USE;
int record_queue_data(struct record_queue *q, const void *p, size_t len, struct err *err) MUST_USE;
int record_queue_round(struct record_queue *q, struct err *err) MUST_USE;
/* Once. NULL is fine. */
int record_queue_end(struct record_queue *q, struct err *err) MUST_USE;
/* The calling thread, which drains, comes before all others that want its CPU, if it may. */
void record_queue_first(void);
void record_queue_free(struct record_queue *q); /* NULL is fine; ends it, too */

#endif
