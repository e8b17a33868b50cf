/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_int - how calls.c and new.c log.
 */
#ifndef CYCLADE_HEAPLOG_CALLS_INT_H
#define CYCLADE_HEAPLOG_CALLS_INT_H

#include "heaplog/heaplog_int.h"

/* Who called the function that this stands in. */
#define CALLER __builtin_return_address(0), __builtin_frame_address(0)

void call_log(enum heap_record type, const void *p, size_t n, const void *from, const void *frame);
void call_log_free(const void *p);

/* The allocator's own size: the same when it is released. */
static inline bool call_big(const void *p)
{
	void *q;

	__builtin_memcpy(&q, &p, sizeof(q));
	return real.malloc_usable_size && real.malloc_usable_size(q) >= HEAP_BIG;
}

#endif
