/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a program that the log's library is to be preloaded into, and as a log of
 * allocations: packing loses nothing, and what is found at an address lies around it and lives
 * then.
 */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/heap.h"
#include "symbol/heap_fit.h"
#include "symbol/heap_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct heap *h, uint32_t pid, uint64_t address, uint64_t time)
{
	enum heap_why why;
	const struct heap_object *o = heap_find(h, pid, address, time, &why);
	size_t n;

	if (!o != (why != HEAP_FOUND) || !*heap_why_text(HEAP_NO_LOG))
		abort();
	if (!o)
		return;
	if (address - o->start >= o->size || o->from > time)
		abort();
	if (heap_chain(h, o, &n) && (!n || n > HEAP_DEPTH))
		abort();
	(void)heap_pid(h, o);
}

static void look_everywhere(const struct heap *h, const void *p, size_t size)
{
	struct heap_log_at at = heap_log_begin(p, size);
	struct heap_log_record r;

	while (heap_log_chunk(&at))
		while (heap_log_record(&at, &r)) {
			look(h, at.chunk.pid, r.address, r.time);
			look(h, at.chunk.pid, r.address + r.bytes / 2, UINT64_MAX - 1);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf packed = BUF_INIT;
	struct heap *h, *again;
	char interpreter[HEAP_FIT_NAME] = "";

	if (heap_fit(data, size, interpreter) == HEAP_FIT_SCRIPT && !*interpreter)
		abort();
	h = heap_read(data, size);
	look_everywhere(h, data, size);
	heap_log_pack(&packed, data, size);
	if (!packed.failed) {
		again = heap_read(buf_str(&packed), packed.len);
		if (heap_facts(h)->objects != heap_facts(again)->objects ||
		    heap_facts(h)->processes != heap_facts(again)->processes)
			abort();
		heap_free(again);
	}
	buf_free(&packed);
	heap_free(h);
	return 0;
}
