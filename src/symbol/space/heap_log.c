/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/heap_log.h"

#include "base/bytes.h"

#define HEAD sizeof(struct heap_chunk)

struct heap_log_at heap_log_begin(const void *p, size_t len)
{
	return (struct heap_log_at){ .p = p, .end = (const uint8_t *)p + (len & ~(size_t)7) };
}

static bool is_chunk(struct heap_chunk *c, const uint8_t *p, size_t left)
{
	if (left < HEAD || ld64(p) != HEAP_MAGIC)
		return false;
	memcpy(c, p, HEAD);
	return c->size >= HEAD && c->size <= left && !(c->size & 7) && c->size <= HEAP_CHUNK_MOST;
}

bool heap_log_chunk(struct heap_log_at *at)
{
	while ((size_t)(at->end - at->p) >= HEAD &&
	       !is_chunk(&at->chunk, at->p, (size_t)(at->end - at->p)))
		at->p += 8;
	if ((size_t)(at->end - at->p) < HEAD)
		return false;
	at->word = at->p + HEAD;
	at->words_end = at->p + at->chunk.size;
	at->p = at->words_end;
	return true;
}

bool heap_log_record(struct heap_log_at *at, struct heap_log_record *r)
{
	size_t left = (size_t)(at->words_end - at->word) / 8;
	uint64_t head = left ? ld64(at->word) : 0, type = head >> 56;
	uint64_t value = head & (UINT64_MAX >> 8);
	size_t need = heap_words(head);
	uint64_t extent;

	if (!need)
		return false;
	*r = (struct heap_log_record){ .type = (enum heap_record)type };
	if (type == HEAP_CHAIN) {
		r->chain = (uint32_t)value;
		r->n = (uint32_t)(value >> 32); /* so many addresses follow */
		r->from = at->word + 8;
		if (!r->n || r->n > HEAP_DEPTH)
			return false;
	} else if (type == HEAP_RATE) {
		r->rate = value;
	} else {
		r->address = value;
	}
	if (need > left)
		return false;
	r->has_time = type != HEAP_CHAIN && need > 1;
	if (r->has_time)
		r->time = ld64(at->word + 8);
	if (need == 3 && type != HEAP_CHAIN) {
		extent = ld64(at->word + 16);
		r->bytes = type == HEAP_UNMAP ? extent : extent & HEAP_BYTES_MOST;
		if (type == HEAP_STACK)
			r->tid = (uint32_t)(extent >> 40);
		else if (type != HEAP_UNMAP)
			r->chain = (uint32_t)(extent >> 40);
	}
	at->word += 8 * need;
	return true;
}

void heap_log_pack(struct buf *out, const void *p, size_t len)
{
	struct heap_log_at at = heap_log_begin(p, len);
	struct heap_log_record r;

	while (heap_log_chunk(&at)) {
		const uint8_t *records = at.word;

		while (heap_log_record(&at, &r))
			;
		at.chunk.size = (uint32_t)(HEAD + (size_t)(at.word - records));
		buf_put(out, &at.chunk, HEAD);
		buf_put(out, records, (size_t)(at.word - records));
	}
}

void heap_log_mark(struct buf *out, clockid_t clock)
{
	struct heap_chunk c = { .magic = HEAP_MAGIC, .size = HEAD, .rate = 1 };

	heap_instant(&c, clock);
	buf_put(out, &c, HEAD);
}
