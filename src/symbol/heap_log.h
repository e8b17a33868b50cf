/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_log - the bytes of allocation logs (heap_format.h), which may be anything.
 *
 *	heap_log_pack(&buf, p, len)	a process' file, for a recording
 *	heap_log_mark(&buf, clock)	this instant by both clocks
 *
 *	for (struct heap_log_at at = heap_log_begin(p, len); heap_log_chunk(&at);)
 *		while (heap_log_record(&at, &r))
 */
#ifndef CYCLADE_SYMBOL_HEAP_LOG_H
#define CYCLADE_SYMBOL_HEAP_LOG_H

#include <stddef.h>

#include "base/buf.h"
#include "symbol/heap_format.h"

struct heap_log_at {
	const uint8_t *p, *end;		 /* the rest behind the chunk */
	struct heap_chunk chunk;	 /* `size` fits */
	const uint8_t *word, *words_end; /* its records that are left */
};

struct heap_log_record {
	enum heap_record type; /* fields that a type lacks are 0 */
	uint64_t address;
	bool has_time;
	uint64_t time; /* as it was written: ticks or ns */
	uint64_t bytes;
	uint64_t rate;
	uint32_t chain; /* its number: of ALLOC, MAP, CHAIN */
	uint32_t tid;
	uint32_t n; /* of CHAIN: addresses, at `from` */
	const uint8_t *from;
};

struct heap_log_at heap_log_begin(const void *p, size_t len);
/* The next chunk; other bytes are skipped. False: there is none. */
bool heap_log_chunk(struct heap_log_at *at);
/* The chunk's next record; false: none, or none that is one. */
bool heap_log_record(struct heap_log_at *at, struct heap_log_record *r);

void heap_log_pack(struct buf *out, const void *p, size_t len);
void heap_log_mark(struct buf *out, clockid_t clock);

#endif
